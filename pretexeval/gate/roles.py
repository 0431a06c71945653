"""Find which entity is the source of each relation that a sentence states: the cause, the treatment, …"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from pretexeval.gate.kinds import (
    LIST_VERBS,
    Cue,
    Kinds,
    find_cue,
    find_next_slot,
    find_noun_kinds,
    find_phrase_start,
)
from pretexeval.gate.lexicon import (
    ARTICLES,
    AUXILIARIES,
    CACHE_SIZE,
    CONDITIONS,
    COPULAS,
    list_words,
    load_words,
    tag_word,
)
from pretexeval.gate.names import SLOTS

_LIGHT = load_words("light")
# In "Y indicates X", Y is known and X is concluded.
_INDICATING = load_words("indicating")
# Words that open a condition at the start of a sentence.
_OPENERS = load_words("openers")
_SETTINGS = load_words("settings")
_DESCRIBING = load_words("prepositions") | {"who", "that", "which", "whose"}
_STATES = list_words("presence existence detection administration exposure absence expression production")
_CHANGES = frozenset(("change", "changes", "alteration", "alterations"))


def find_two_slots(tokens: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the first slot, and of the first mention of the other one."""
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    others = [i for i in places if tokens[i] != tokens[places[0]]]
    return (places[0], others[0]) if others else None


def is_condition_asserted(tokens: Sequence[str]) -> bool:
    """Return whether the sentence says a condition as a fact: "a patient takes X, and …"."""
    words = [token for token in tokens[:4] if token not in _LIGHT]
    joints = set(pairwise(tokens))
    is_person = bool(words) and _is_bearer(words[0])
    return (",", "and") in joints or (is_person and ("and" in tokens or (",", "which") in joints))


def is_person_called(tokens: Sequence[str]) -> bool:
    """Return whether a person is called one of the things: "a patient who takes X is among the drugs …"."""
    if (places := find_two_slots(tokens)) is None or "person" not in tag_word(tokens[tokens[0] in ARTICLES]):
        return False
    after = [token for token in tokens[places[0] + 1 : places[0] + 5] if token not in ("not", "and")]
    return after[:1] in (["is"], ["are"]) and after[1:2] in (["among"], ["one"], ["a"], ["an"], ["the"])


def find_premise(tokens: Sequence[str]) -> str | None:
    """Return the slot that the sentence assumes, such as X in "if X, then Y"; None if its words show none."""
    if (places := find_two_slots(tokens)) is None:
        return None
    first, second = places
    if tokens[0] in _OPENERS:
        return tokens[first]
    if _ends_with_condition(tokens, first, second):
        return tokens[second]
    if _INDICATING.intersection(tokens[first + 1 : second]):
        return tokens[first]
    opening = next((token for token in tokens[:first] if token not in _LIGHT), "")
    return tokens[first] if opening in _STATES or _opens_with_person(tokens, first) else None


def are_changes_exchanged(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether both open with a change, but of different entities.

    "A change of Y is caused by a rise of X" assumes that Y changes; "a rise of X changes Y" does not.
    """
    changed = (_find_changed(statement), _find_changed(text))
    return None not in changed and changed[0] != changed[1]


def _find_changed(tokens: Sequence[str]) -> str | None:
    """Return the slot after an opening such as "a change of" or "the reduction in the level of"."""
    opening = next((i for i, token in enumerate(tokens) if token not in _LIGHT), 0)
    is_change = tokens[opening] in _CHANGES or not tag_word(tokens[opening]).isdisjoint(("up", "down"))
    if not is_change or tokens[opening + 1 : opening + 2] not in (("of",), ("in",)):
        return None
    return next((token for token in tokens[opening:] if token in SLOTS), None)


def _ends_with_condition(tokens: Sequence[str], first: int, second: int) -> bool:
    """Return whether the sentence ends with "in patients with Y" or "when a person has Y"."""
    for i in range(first + 1, second - 1):
        if tokens[i] in CONDITIONS:
            return True
        if tokens[i] in ("in", "among", "amongst", "for"):
            after = [token for token in tokens[i + 1 : second] if token not in _LIGHT]
            if len(after) > 1 and _is_bearer(after[0]) and after[0] != "those" and _describes(after[1]):
                return True
    return False


def _opens_with_person(tokens: Sequence[str], first: int) -> bool:
    """Return whether the first slot describes a person: "a patient with X", "the condition X in somebody"."""
    words = [token for token in tokens[:first] if token not in _LIGHT]
    if words and _is_bearer(words[0]):
        return len(words) > 1 and (_describes(words[1]) or tokens[first + 1] in AUXILIARIES)
    after = [token for token in tokens[first + 1 : first + 5] if token not in ARTICLES][:2]
    is_described = len(after) == 2 and after[0] in ("in", "from", "of") and "person" in tag_word(after[1])
    return is_described or any("person" in tag_word(token) for token in after[:1])


@lru_cache(CACHE_SIZE)
def _is_bearer(token: str) -> bool:
    """Return whether the word names who or what a condition is about: a person, a cell, a sample, a study."""
    return token in _SETTINGS or "person" in tag_word(token)


def _describes(token: str) -> bool:
    """Return whether the word after a person begins a description of that person."""
    return token in _DESCRIBING or token.endswith(("ing", "ed"))


_GOVERNING_PREPOSITIONS = load_words("governing_prepositions")
_PHRASE_STARTS = COPULAS | _GOVERNING_PREPOSITIONS | frozenset(SLOTS)
_HAVING = frozenset(("has", "have", "having", "with"))
_SYMMETRIC = load_words("symmetric")


def are_entities_exchanged(statement: Sequence[str], text: Sequence[str], kinds: Kinds) -> bool:
    """Return whether each entity stands in the text where the statement has the other one.

    The word that governs a mention is compared by its form: "for monitoring X" is not "X is monitored".
    Words of symmetric relations do not count.

    Args:
        kinds: slot -> the kinds of thing for which the statement takes the entity.
    """
    own = {slot: _find_governors(statement, slot, kinds[slot]) for slot in SLOTS}
    other = {slot: _find_governors(text, slot, kinds[slot]) for slot in SLOTS}
    is_moved = {
        slot: bool(other[slot] & own[opposite]) and not other[slot] & own[slot]
        for slot, opposite in (SLOTS, SLOTS[::-1])
    }
    return any(
        is_moved[slot] and not other[opposite] & own[opposite] for slot, opposite in (SLOTS, SLOTS[::-1])
    )


def _find_governors(tokens: Sequence[str], slot: str, kinds: frozenset[str]) -> set[tuple[str, ...]]:
    """Return for each mention the word before its noun phrase, with the preposition between them.

    A noun that only says the kind of the entity does not govern it: "the morphology of X" for a morphology X.
    """
    found = set()
    for at in (i for i, token in enumerate(tokens) if token == slot):
        at = find_phrase_start(tokens, at)
        words = tuple(token for token in tokens[max(0, at - 4) : at] if token not in ARTICLES)[-2:]
        words = words[-1:] if words and words[-1] not in _GOVERNING_PREPOSITIONS else words
        is_kind = words[1:] == ("of",) and _only_names_kind(tokens, at - 1, kinds)
        if words and not is_kind and _SYMMETRIC.isdisjoint(words[:1]) and not set(SLOTS).intersection(words):
            found.add(words)
    return found


def _only_names_kind(tokens: Sequence[str], at: int, kinds: frozenset[str]) -> bool:
    """Return whether the noun before this "of" only says what the next entity is: "has the effect of X"."""
    noun_kinds = find_noun_kinds(tokens[at - 1])
    if not noun_kinds.isdisjoint(kinds) and not is_predicate_noun(tokens, at):
        return True
    start = find_phrase_start(tokens, at)
    return bool(noun_kinds) and start > 0 and tokens[start - 1] in _HAVING


def is_predicate_noun(tokens: Sequence[str], at: int) -> bool:
    """Return whether the noun phrase before this "of" is a predicate: it follows "as" or a form of "be"."""
    before = reversed(tokens[:at])
    return next((token in COPULAS for token in before if token in _PHRASE_STARTS), False)


_AGENT_PREPOSITIONS = frozenset(("by", "with", "using", "through", "via"))
_PRONOUNS = frozenset(("it", "them", "this", "these", "such", "its"))
_OF_THE = (("of", "the"), ("of", "this"), ("of", "that"))
# Participles that are always read as active: nobody else does this to the subject.
_NEVER_PASSIVE = frozenset(["originated", "stemmed", "derived", "emerged", "succeeded", "involved"])
_RELATIVE = frozenset(("that", "which", "who", "to"))
_POSSESSION = Cue("host", is_source_subject=True)
_POSSESSION_VERBS = LIST_VERBS | {"has", "have", "lacks", "lack", "features", "shows"}
_ACTION_NOUNS = load_words("action_nouns")


def find_sources(tokens: Sequence[str]) -> dict[str, str]:
    """Return kind of relation -> its source slot; kinds on which the cues disagree are left out."""
    if (places := find_two_slots(tokens)) is None:
        return {}
    first, second = places
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens):
        # "The symptom X" and "X is a symptom that …" only say what X is.
        is_class = find_noun_kinds(token) and (
            find_next_slot(tokens, at + 1) or tokens[at + 1 : at + 2] in (("that",), ("which",))
        )
        cue = find_cue(token) or _find_possession(tokens, at, first, second)
        if cue is not None and cue.kind == "host" and is_class:
            continue
        if cue is not None and (source := _find_source(tokens, at, cue, first, second)) is not None:
            found.setdefault(cue.kind, set()).add(tokens[source])
    return {kind: sources.pop() for kind, sources in found.items() if len(sources) == 1}


def _find_source(tokens: Sequence[str], at: int, cue: Cue, first: int, second: int) -> int | None:
    """Return the position of the slot that is the source by this cue; None if the cue does not show it."""
    if cue.is_adverb:
        described = second if at > first else first
        return described if cue.is_source_subject else first + second - described
    if tokens[at] in ("effect", "effects") and first < at < second and not is_predicate_noun(tokens, at + 1):
        return None
    # "The effect of X" may be what X does, or X itself.
    is_open = tokens[at] in ("effect", "effects") and at < first
    # "Y prevention" prevents Y, and "X treatment" treats with X.
    is_open = is_open or (at > 0 and tokens[at - 1] in SLOTS and tokens[at] in _ACTION_NOUNS)
    subject = None if is_open else _find_subject(tokens, at, first, second)
    if subject is None:
        return None
    return subject if cue.is_source_subject else first + second - subject


def _find_possession(tokens: Sequence[str], at: int, first: int, second: int) -> Cue | None:
    """Return the cue in "X has Y" or "the features of X include Y"."""
    if tokens[at] not in _POSSESSION_VERBS or not first < at < second or second - at > 4 or at - first > 3:
        return None
    return _POSSESSION


def _find_subject(tokens: Sequence[str], at: int, first: int, second: int) -> int | None:
    """Return the position of the slot that is the subject of the cue in the active voice; None if unknown.

    Passives are turned into actives, and pronouns are replaced by the entity that they refer to.
    """
    is_passive = _is_agent_after(tokens, at, first, second)
    if is_passive is None or (at < first and _has_other_subject(tokens, at)):
        return None
    if at > second and tokens[at + 1 : at + 2] in (("a",), ("an",)):
        # The object is neither of the two: "X and Y may cause an interaction".
        return None
    if at > second and "its" in tokens[max(second, at - 4) : at]:
        return second
    if at > second:
        is_passive_participle = tokens[at].endswith("ed") and tokens[at] not in _NEVER_PASSIVE
        return first if is_passive_participle or _refers_back(tokens, max(second, at - 2), at) else second
    if at < first:
        return first if is_passive else second
    is_reference = _refers_back(tokens, at + 1, min(at + 7, second))
    is_reference = is_reference or (tokens[at] in ("source", "origin") and tokens[at + 1] == "in")
    # "The antecedents include Y" lists antecedents; "the uses of the drug include Y" does not list drugs.
    is_list = tuple(tokens[at - 2 : at]) not in _OF_THE and LIST_VERBS.intersection(
        tokens[at + 1 : second][:3]
    )
    return second if is_passive != (is_reference or bool(is_list)) else first


def _has_other_subject(tokens: Sequence[str], at: int) -> bool:
    """Return whether a verb before both entities has its own subject: "if a cell produces X"."""
    is_verb = tokens[at].endswith("s") and not find_noun_kinds(tokens[at])
    return is_verb and _RELATIVE.isdisjoint(tokens[max(0, at - 2) : at])


def _refers_back(tokens: Sequence[str], start: int, end: int) -> bool:
    """Return whether tokens[start:end] refer to an earlier entity: "it", "this condition", "that disease"."""
    for i in range(start, end):
        is_that = tokens[i] == "that" and i + 1 < len(tokens) and bool(find_noun_kinds(tokens[i + 1]))
        if tokens[i] in _PRONOUNS or is_that:
            return True
    return False


def _is_agent_after(tokens: Sequence[str], at: int, first: int, second: int) -> bool | None:
    """Return whether the agent follows the cue, as in "treated with"; None for a passive without an agent."""
    following = next((slot for slot in (first, second) if slot > at), None)
    if following is None:
        return False
    is_participle = tokens[at].endswith("ed")
    n_words = 8 if tokens[at] in _ACTION_NOUNS else 4 if is_participle else 1
    if _AGENT_PREPOSITIONS.intersection(tokens[at + 1 : following][:n_words]):
        return True
    if not is_participle or tokens[at] in _NEVER_PASSIVE:
        return False
    # Without an agent the participle is a passive, or an adjective as in "the affected gene".
    return None


def are_sources_swapped(statement: Mapping[str, str], text: Mapping[str, str]) -> bool:
    """Return whether a relation that both sentences state has another source in the text."""
    return any(text.get(kind, source) != source for kind, source in statement.items())
