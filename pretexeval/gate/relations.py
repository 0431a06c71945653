"""The words of a sentence for each entity, and which of the two is the source of a relation: the cause, …"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from pretexeval.gate.lexicon import CACHE_SIZE, MARKS, WORDS, compile_lists, stem_word, tag_word
from pretexeval.gate.names import SLOTS

# The kinds of thing that a noun can name; nothing for a noun of no known kind.
find_noun_kinds = compile_lists("kinds")
_NEVER_AFTER_NAME = frozenset(("remedy", "course", "state"))


def _belongs_to_phrase(tokens: Sequence[str], at: int) -> bool:
    """Return whether the word is an article, a class noun or its adjective: "the biological process"."""
    is_last = at + 1 == len(tokens) or not find_noun_kinds(tokens[at + 1])
    is_adjective = not is_last and tokens[at].endswith(("al", "ic", "normal"))
    return is_adjective or tokens[at] in WORDS["articles"] or bool(find_noun_kinds(tokens[at]))


def find_phrase_start(tokens: Sequence[str], at: int) -> int:
    """Return where the articles, class nouns and their adjectives before this position begin."""
    while at and _belongs_to_phrase(tokens, at - 1):
        at -= 1
    return at


def find_entity_kinds(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return slot -> the kinds of thing that the nouns beside its mentions take it for."""
    found: dict[str, set[str]] = {slot: set() for slot in SLOTS}
    for at, token in enumerate(tokens):
        if token in SLOTS:
            before, after = ("", *tokens)[at], (*tokens, "")[at + 1]
            found[token] |= find_noun_kinds(before) | (find_noun_kinds(after) - _NEVER_AFTER_NAME)
            # "X is a common symptom of …", but not "a disease in X is a sign of …"
            phrase = [*takewhile(lambda word: word not in _PHRASE_STARTS, tokens[at + 2 : at + 8])]
            if after in WORDS["copulas"] and "in" not in tokens[max(0, at - 3) : at]:
                found[token] |= next(filter(None, map(find_noun_kinds, reversed(phrase))), frozenset())
    return {slot: frozenset(kinds) for slot, kinds in found.items()}


def find_nouns(tokens: Sequence[str]) -> dict[str, str]:
    """Return slot -> the class noun directly before it: "condition" in "the condition X"."""
    return {slot: noun for noun, slot in pairwise(tokens) if slot in SLOTS and find_noun_kinds(noun)}


@dataclass(frozen=True)
class Cue:
    """A word that relates its subject to its object."""

    kind: str
    is_source_subject: bool  # Whether the subject of the word is the source of the relation.
    is_adverb: bool  # Whether the word describes a single event: "afterwards" makes that event the later one.


_find_forward, _find_backward = compile_lists("forward"), compile_lists("backward")
# The ideas that a word states, of relations with and without a class.
find_ideas = compile_lists("predicates")
# Further words that a rewording of the class may use instead; they show no direction.
_find_hints = compile_lists("hints")
# These state their class all the same.
_STATED_HINTS = frozenset(("worse", "bind", "map", "regulate"))


@lru_cache(CACHE_SIZE)
def find_cue(word: str) -> Cue | None:
    """Return the cue for the word; None if the word is no cue."""
    kinds = _find_forward(word) or _find_backward(word)
    is_adverb = any(kind.endswith("_adverb") for kind in kinds)
    return Cue(min(kinds).removesuffix("_adverb"), bool(_find_forward(word)), is_adverb) if kinds else None


@lru_cache(CACHE_SIZE)
def list_hinted(word: str) -> frozenset[str]:
    """Return the classes that the word states or hints at."""
    cue = find_cue(word)
    return _find_hints(word) | ({cue.kind} if cue else set())


@lru_cache(CACHE_SIZE)
def list_stated(word: str) -> frozenset[str]:
    """Return the classes that the word states on its own."""
    cue = None if "vague" in _find_hints(word) else find_cue(word)
    return (_find_hints(word) & _STATED_HINTS) | ({cue.kind} if cue else set())


def find_stated(tokens: Sequence[str]) -> frozenset[str]:
    """Return the classes that a sentence states; "before" and "after" count only next to an entity."""
    pairs = ((token, tokens[at + 1 : at + 4]) for at, token in enumerate(tokens))
    counted = (t for t, n in pairs if t not in WORDS["time_prepositions"] or not set(SLOTS).isdisjoint(n))
    return frozenset().union(*map(list_stated, counted))


_DESCRIBING = WORDS["prepositions"] | {"who", "that", "which", "whose"}


def find_two_slots(tokens: Sequence[str]) -> tuple[int, int]:
    """Return the positions of the first slot, and of the first mention of the other one."""
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    return places[0], next(i for i in places if tokens[i] != tokens[places[0]])


def find_premise(tokens: Sequence[str]) -> str | None:
    """Return the slot that the sentence assumes, such as X in "if X, then Y"; None if its words show none."""
    first, second = find_two_slots(tokens)
    if tokens[0] in WORDS["openers"]:
        return tokens[first]
    # "…, when a person has Y", "… in patients with Y"
    for i in range(first + 1, second - 1):
        after = [token for token in tokens[i + 1 : second] if token not in WORDS["light"]]
        is_described = tokens[i] in ("in", "among", "for") and after[:1] != ["those"] and _describes(after)
        if tokens[i] in WORDS["conditions"] or is_described:
            return tokens[second]
    opening = [token for token in tokens[:first] if token not in WORDS["light"]]
    if opening and _is_bearer(opening[0]):
        is_premise = _describes(opening) or (len(opening) > 1 and tokens[first + 1] in WORDS["auxiliaries"])
    else:
        # "The condition X in somebody", "X patients"
        after = [token for token in tokens[first + 1 : first + 5] if token not in WORDS["articles"]][:2]
        after = after[1:] if after[:1] and after[0] in ("in", "from", "of") else after
        is_premise = "person" in tag_word((*after, "")[0]) or not WORDS["states"].isdisjoint(opening[:1])
    is_premise = is_premise or not WORDS["indicating"].isdisjoint(tokens[first + 1 : second])
    return tokens[first] if is_premise else None


def _is_bearer(token: str) -> bool:
    """Return whether the word names who or what a condition is about: a person, a cell, a sample, a study."""
    return token in WORDS["settings"] or "person" in tag_word(token)


def _describes(words: Sequence[str]) -> bool:
    """Return whether the words are a person and the beginning of a description of that person."""
    is_described = len(words) > 1 and (words[1] in _DESCRIBING or words[1].endswith(("ing", "ed")))
    return is_described and _is_bearer(words[0])


def find_changed(tokens: Sequence[str]) -> str | None:
    """Return the slot after an opening such as "a change of" or "the reduction in the level of".

    "A change of Y is caused by a rise of X" assumes that Y changes; "a rise of X changes Y" does not.
    """
    opening = next((i for i, token in enumerate(tokens) if token not in WORDS["light"]), 0)
    changes = stem_word(tokens[opening]) in ("chang", "alter") or tag_word(tokens[opening]) & {"up", "down"}
    is_change = bool(changes) and tokens[opening + 1 : opening + 2] in (("of",), ("in",))
    return next((token for token in tokens[opening:] if is_change and token in SLOTS), None)


_PRONOUNS = WORDS["objects"]
_PHRASE_STARTS = WORDS["copulas"] | WORDS["governing_prepositions"] | frozenset(SLOTS)
_ADVERBS = frozenset(("neg", "rare", "may", "can", "often", "mainly", "likely", "must", "only"))
_NO_VERBS = MARKS | WORDS["prepositions"] | WORDS["symmetric"] | frozenset(SLOTS)
_NO_OWNER = WORDS["states"] | WORDS["frames"] | WORDS["before_verb"]
_AGENTS = WORDS["agent_prepositions"] | {"in"}
_HELPERS = WORDS["articles"] | WORDS["auxiliaries"] | WORDS["helpers"]


def is_predicate_noun(tokens: Sequence[str], at: int) -> bool:
    """Return whether the noun phrase before this "of" is a predicate: it follows "as" or a form of "be"."""
    before = reversed(tokens[:at])
    return next((token in WORDS["copulas"] for token in before if token in _PHRASE_STARTS), False)


def find_sources(tokens: Sequence[str]) -> dict[str, str]:
    """Return class of relation, or stem of a verb -> its source slot; without those whose cues disagree."""
    first, second = find_two_slots(tokens)
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens):
        if (cue := find_cue(token)) is None:
            continue
        event = second if at > first else first
        if (subject := event if cue.is_adverb else _find_subject(tokens, at, first, second)) is not None:
            source = subject if cue.is_source_subject else first + second - subject
            found.setdefault(cue.kind, set()).add(tokens[source])
    for stem, slot in _list_own_sources(tokens, first, second):
        found.setdefault(f"~{stem}", set()).add(slot)
    return {kind: sources.pop() for kind, sources in found.items() if len(sources) == 1}


def _find_subject(tokens: Sequence[str], at: int, first: int, second: int) -> int | None:
    """Return the position of the slot that is the subject of the cue in the active voice; None if unknown.

    Passives are turned into actives, and pronouns are replaced by the entity that they refer to.
    """
    if not first < at < second:
        # "X has Y as a cause"
        is_noun = "as" in tokens[max(second, at - 4) : at] and "that" not in tokens[second:at]
        return second if is_noun and not tokens[at].endswith("ed") else None
    between, is_participle = tokens[at + 1 : second], tokens[at].endswith("ed")
    n_words = 8 if tokens[at] in WORDS["action_nouns"] else 4 if is_participle else 1
    is_passive = not WORDS["agent_prepositions"].isdisjoint(between[:n_words])
    # "Y prevention" prevents Y, "X treatment" treats with X; "the effect of X" is what X does, or X itself.
    is_open = tokens[at - 1] in SLOTS and tokens[at] in WORDS["action_nouns"]
    is_effect = tokens[at] in ("effect", "effects") and not is_predicate_noun(tokens, at + 1)
    # Without an agent the participle is a passive, or an adjective as in "the affected gene".
    is_agentless = is_participle and not is_passive and tokens[at] not in WORDS["never_passive"]
    if is_open or is_effect or is_agentless:
        return None
    following = tuple(pairwise((*between[:6], "")))
    is_reference = any(word in _PRONOUNS or (word == "that" and find_noun_kinds(n)) for word, n in following)
    is_reference = is_reference or tokens[at : at + 2] in (("source", "in"), ("origin", "in"))
    return second if is_passive != is_reference else first


def _list_own_sources(tokens: Sequence[str], first: int, second: int) -> Iterator[tuple[str, str]]:
    """Yield (stem, subject) of each verb between the two entities, and (stem, bearer) of "X is a N of Y".

    The word needs no class: statement and text are compared only if both have a word of the stem.
    """
    subject, other = tokens[first], tokens[second]
    if "whose" in tokens[first:second]:
        return
    at, start = _skip_helpers(tokens, first + 1), find_phrase_start(tokens, second)
    helpers = tokens[max(0, find_phrase_start(tokens, first) - 1) : at]
    verb, before = tokens[at], tokens[start - 2 : start]
    # What is between the verb and the other entity, without its article and its class.
    after = [token for token in tokens[at + 1 : start] if not token.endswith("ly")]
    articles = [i for i, token in enumerate(after) if token in WORDS["articles"]]
    if articles and WORDS["prepositions"].isdisjoint(after[articles[-1] :]):
        after = after[: articles[-1]]
    is_governing = WORDS["prepositions"].issuperset(after) or "by" in after[-1:]
    is_governing |= tokens[0] == "what" and WORDS["copulas"].issuperset(after)  # "What X supplies is Y"
    is_owned = before[1:] == ("of",) and not WORDS["copulas"].isdisjoint(tokens[first + 1 : start])
    if is_owned and WORDS["prepositions"].isdisjoint(tokens[first + 1 : start - 1]):
        yield f"{stem_word(before[0])} of", subject
    elif at < second and _is_role_verb(tokens, at) and is_governing:
        is_participle = verb.endswith(("ed", "en", "wn", "un")) or "by" in after
        is_passive = is_participle and not WORDS["copulas"].isdisjoint(helpers)
        # "X is stored in Y" and "X is used for Y" are what Y does, "X is attached to Y" is what X does.
        is_turned = is_passive and (verb == "used" or not _AGENTS.isdisjoint(after))
        # "Through Y passes X" is what X does.
        is_turned = is_turned or (not is_passive and not after and follows_place(tokens))
        yield _stem_verb(verb), other if is_turned else subject
    if tokens[second - 1] in ("includes", "include", "has", "have"):
        own = find_phrase_start(tokens, first)
        noun = tokens[-1] if "as" in tokens[second + 1 :] else tokens[own - 2] if own > 1 else ""
        yield f"{stem_word(noun)} of", other
    for at in (first, second):
        start = find_phrase_start(tokens, at)
        noun = tokens[start - 2] if start > 1 and tokens[start - 1] == "of" else ""
        if at == second and not {"has", "have", "had"}.isdisjoint(tokens[first:start]):
            # "X has a half-life of Y" says the same as "The half-life of X is Y".
            continue
        if noun and noun not in _NO_OWNER and not find_noun_kinds(noun):
            yield f"of {stem_word(noun)}", tokens[at]
        # "X receives what Y emits", "the blood drained by Y"
        if tokens[start - 1] == "by" and tokens[start - 2].endswith("ed"):
            yield _stem_verb(tokens[start - 2]), tokens[at]
    # "Most carriers of X", "all patients with X"; not "most common".
    for at, (word, noun) in enumerate(pairwise(tokens[:second])):
        if word in ("most", "all", "every") and (noun.endswith("rs") or "person" in tag_word(noun)):
            yield "most", next(token for token in tokens[at:] if token in SLOTS)


def follows_place(tokens: Sequence[str]) -> bool:
    """Return whether the first entity follows a preposition of place: "Through the X passes the Y."."""
    first = next(at for at, token in enumerate(tokens) if token in SLOTS)
    return find_phrase_start(tokens, first) == 1 and tokens[0] in WORDS["places"]


def _stem_verb(verb: str) -> str:
    """Return the stem of a verb in any form: "owns" and "owned", "sponsors" and "sponsored"."""
    stem = stem_word(stem_word(stem_word(verb)))
    return stem.removesuffix("ed").removesuffix("e") if len(stem) < 6 else stem


def _skip_helpers(tokens: Sequence[str], at: int) -> int:
    """Return the position of the first word that is no auxiliary, adverb, article, pronoun or class noun."""
    for place in range(at, len(tokens)):
        is_adverb = tokens[place].endswith("ly") or tag_word(tokens[place]) & _ADVERBS
        if not (is_adverb or tokens[place] in _HELPERS or find_noun_kinds(tokens[place])):
            return place
    return len(tokens) - 1


def _is_role_verb(tokens: Sequence[str], at: int) -> bool:
    word, is_noun = tokens[at], tokens[at - 1] in ("of", "the", "a", "an")
    is_adjective = word.endswith(("al", "ar", "ic", "ous"))
    return len(word) > 2 and word not in _NO_VERBS and not (is_noun or is_adjective)
