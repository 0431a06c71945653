"""The features of a sentence that the checks compare, such as what it denies and how sure it is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise, takewhile

from pretexeval.gate.lexicon import CACHE_SIZE, WORDS, join_phrases, load_groups, stem_word, tag_word
from pretexeval.gate.names import SLOTS
from pretexeval.gate.relations import (
    find_changed,
    find_entity_kinds,
    find_nouns,
    find_phrase_start,
    find_premise,
    find_sources,
    find_stated,
    find_two_slots,
    list_hinted,
)

Tags = Sequence[frozenset[str]]
_NEGATING_TAGS = frozenset(("neg", "rare", "unlike", "doubt"))
_FORCES = {"no_longer": "no longer", "doubt": "doubtful", "unlike": "unlikely", "rare": "not often"}
_PHRASE_ENDS = WORDS["auxiliaries"] | WORDS["conditions"] | {"not", "then", "that", "by", ","}
_COPULAS = WORDS["copulas"]
_POSSIBLE = frozenset(("may", "can"))
_KEPT_IN_DENIALS = frozenset(("must", "only", "part", "mainly", "should", "hedge", "shift"))
_KEPT = _KEPT_IN_DENIALS | {"often", "likely"}
# What contributes to an effect is a part of its cause, and what depends on something requires it.
_IMPLIED_MODES = {"bar": "should", "share": "part", "rely": "must"}
_PAST = {verb: past for past, verb in load_groups("irregular").items() if past != verb}
_ASSERTING = {(",", "and"), (",", "which")}


@dataclass(frozen=True)
class Polarity:
    """The part of a sentence that is denied, and how firm the denial is."""

    absent: frozenset[str]
    """The slots that the sentence says are absent: X in "a lack of X" and "what is not X"."""
    is_condition_negated: bool
    is_negated: bool
    force: str  # affirmed, denied, or less: not always, not often, may not, unlikely, doubtful, no longer.


def read_polarity(tokens: Sequence[str], tags: Tags, known: frozenset[str] | None = None) -> Polarity:
    """Return the polarity of a masked sentence; ``known`` are the slots that its statement says are absent.

    Only for these "a lack of X" is about X; for others, it denies what the statement affirms of X.
    """
    negations = [i for i, found in enumerate(tags) if found & _NEGATING_TAGS]
    if not negations:
        return Polarity(frozenset(), False, False, "affirmed")
    ends = {i: slot for i in negations if (slot := _find_denied_end(tokens, i, known))}
    in_condition = {*_find_condition(tokens, tags), *(i for i in negations if _is_about_subject(tokens, i))}
    in_condition = in_condition.intersection(negations).difference(ends)
    claimed = [i for i in negations if i not in ends and i not in in_condition]
    is_negated = _is_claim_denied(tokens, claimed)
    force = _find_force(tokens, tags, claimed if is_negated else claimed[:1])
    # "Need not be withheld" denies nothing, but "must not be withheld" says more.
    is_optional = force == "not always" and set(SLOTS).isdisjoint(tokens[claimed[0] : claimed[-1]])
    force = force if is_negated or is_optional else "affirmed"
    # "A lack of a deficiency in X" is no lack of X.
    absent = frozenset(slot for slot, n in Counter(ends.values()).items() if n % 2)
    return Polarity(absent, len(in_condition) % 2 == 1, is_negated, force)


def _find_denied_end(tokens: Sequence[str], at: int, known: frozenset[str] | None) -> str | None:
    """Return the slot that the negation denies, as in "other than X", "what is not X" or "without X"."""
    before, after = tokens[max(0, at - 2) : at], tokens[at + 1 : at + 6]
    own = known if known is not None else SLOTS
    # "X deficiency" says the same as "a lack of X".
    if before and before[-1] in own and tokens[at] in ("deficiency", "shortage"):
        return before[-1]
    end = next((i for i, word in enumerate(after) if word in SLOTS or word in _PHRASE_ENDS), len(after))
    slot = after[end] if end < len(after) and after[end] in SLOTS else None
    # "Not taking X" and "refraining from X" deny the act, and not what it does.
    act = after[0] if after and tokens[at] == "not" else tokens[at]
    if (not before or before[-1] == "by") and act.endswith("ing") and act != "nothing":
        return slot
    if tokens[at] == "not" and at == 2 and tokens[0] == "it" and "that" in tokens[at:]:
        focus = tokens[at + 1 : tokens.index("that", at)]
        is_part = not any(word in SLOTS or word in WORDS["truths"] or tag_word(word) for word in focus)
        return "focus" if is_part else None
    if slot is not None and tokens[at] in WORDS["privative"]:
        is_first = slot == next(token for token in tokens if token in SLOTS)
        is_opening = is_first and WORDS["opening"].issuperset(tokens[:at])
        # "Relatives of a patient without X", "frequent in patients without X"
        if tokens[at] == "without":
            is_before_verb = is_first and WORDS["auxiliaries"].isdisjoint(tokens[:at])
            is_opening = is_before_verb or "person" in tag_word(("", *before)[-1])
        is_verb = tokens[at] in ("lack", "lacks") and after[0] != "of"
        return slot if is_opening or (slot in known if known is not None else not is_verb) else None
    if slot is not None and tokens[at] in ("not", "other_than", "non"):
        is_noun_phrase = (WORDS["prepositions"] - {"of"} | _COPULAS).isdisjoint(after[:end])
        is_complement = tokens[at] == "not" and not WORDS["auxiliaries"].isdisjoint(before[-1:])
        is_relative = not _COPULAS.isdisjoint(before) and not WORDS["relatives"].isdisjoint(before)
        # "A non-carrier of X" denies that somebody carries X.
        is_noun_phrase &= not (after[0].endswith(("ed", "ing")) or (tokens[at] == "non" and end))
        return slot if is_noun_phrase and (not is_complement or is_relative) else None
    # "X is absent", "X deficiency"
    is_predicate = tokens[at] in WORDS["privative"] and not _COPULAS.union(SLOTS).isdisjoint(before[-1:])
    return next((token for token in before if is_predicate and token in own), None)


def _is_about_subject(tokens: Sequence[str], at: int) -> bool:
    """Return whether the negation only describes the subject, as in "patients who do not have X are Y".

    "Drugs that do not treat X include Y" denies the claim.
    """
    places = find_two_slots(tokens)
    relative = next((i for i in range(at - 1, 0, -1) if tokens[i] in WORDS["relatives"]), 0)
    if not 0 < relative < at < places[0]:
        return False
    is_first_verb = WORDS["auxiliaries"].isdisjoint(tokens[:relative])
    before = tokens[find_phrase_start(tokens, places[1]) - 1]
    is_identity = before in _COPULAS or before.startswith("includ")
    return is_first_verb and WORDS["auxiliaries"].issuperset(tokens[relative + 1 : at]) and not is_identity


def _is_claim_denied(tokens: Sequence[str], negations: Sequence[int]) -> bool:
    """Return whether the negations deny the claim; two cancel only if one is in the scope of the other.

    A later negation is outside the scope if a new clause begins after a name: "it is not X, as it is not Y".
    """
    is_denied, is_any_denied = False, False
    for i, at in enumerate(negations):
        between = tokens[negations[i - 1] : at] if i else ()
        slot = next((j for j, token in enumerate(between) if token in SLOTS), len(between))
        # "It is false that" has all that follows in its scope.
        is_frame = "that" in between[1 : min(5, slot)]
        # "As a cause" begins no clause, "as it is" does.
        is_reason = "as" in between[slot:] and not WORDS["subjects"].isdisjoint(between[slot:])
        is_new = is_reason or tokens[at] == "nor" or not WORDS["conjunctions"].isdisjoint(between[slot:])
        if i and is_new and not is_frame:
            is_any_denied, is_denied = is_any_denied or is_denied, False
        is_denied = not is_denied
    return is_denied or is_any_denied


def _find_condition(tokens: Sequence[str], tags: Tags) -> set[int]:
    """Return the positions of conditions; words such as "given" open one only at the start of a clause."""
    slots = [i for i, token in enumerate(tokens) if token in SLOTS]
    found: set[int] = set()
    for i, tag in enumerate(tags):
        if "if" in tag and (tokens[i] in WORDS["conditions"] or i == 0 or tokens[i - 1] == ","):
            inner = [slot for slot in slots if slot > i]
            after = inner[0] + 1 if inner else len(tokens)
            ends = [j for j in range(after, len(tokens)) if tokens[j] in (",", "then")]
            found.update(range(i, ends[0] if ends else len(tokens) if len(inner) < 2 else after))
    return found


def _find_force(tokens: Sequence[str], tags: Tags, negations: Sequence[int]) -> str:
    """Return how firm the denial is that the negations of the claim make together."""
    vocabulary = frozenset().union(*tags)
    for tag, force in _FORCES.items():
        if tag in vocabulary:
            return force
    for at in negations:
        stop = next((j for j in range(at + 1, len(tokens)) if tokens[j] in SLOTS or tokens[j] == ","), at + 5)
        reach = tags[at + 1 : min(stop, at + 5)]
        is_partial = any("must" in found for found in reach) or any("imply" in found for found in reach[:2])
        # "Can be done without X" says the same as "does not require X".
        is_spared = tokens[at] == "without" and "can" in tokens[:at]
        if is_partial or is_spared or "some" in tokens[:at] or tokens[at - 1 : at] in (("need",), ("needs",)):
            return "not always"
        if any("evidence" in found for found in reach):
            return "doubtful"
        if tokens[at] != "no" and not WORDS["may"].isdisjoint(tokens[max(0, at - 2) : at]):
            return "may not"
    return "unlikely" if "likely" in vocabulary else "not often" if "often" in vocabulary else "denied"


def read_modes(tokens: Sequence[str], tags: Tags) -> frozenset[str]:
    """Return the modes that words express."""
    vocabulary, n_denials = frozenset().union(*tags), sum("neg" in word for word in tags)
    found = vocabulary & (_KEPT | _POSSIBLE)
    # "X can not happen without Y" requires Y.
    if "can" in tokens and "without" in tokens[tokens.index("can") :]:
        found = (found - {"can"}) | {"must"}
    # "Not uncommon" means common, and "not unlikely" means likely.
    return found | ({"often"} if "rare" in vocabulary and n_denials else set())


@dataclass(frozen=True)
class SentenceFeatures:
    """The features of one sentence whose entities are slots."""

    tokens: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    vocabulary: frozenset[str]  # All tags that occur in the sentence.
    polarity: Polarity
    modes: frozenset[str]
    claimed_modes: frozenset[str]  # The modes of the claim, without those of a condition.
    sources: dict[str, str]  # Class of relation, or stem of a verb -> the slot that is its source.
    entity_kinds: dict[str, frozenset[str]]  # Slot -> the kinds of thing that the sentence calls the entity.
    premise: str | None  # The slot that the sentence assumes: X in "if X, then Y".
    stated: frozenset[str]  # Classes of relations that the sentence states explicitly.
    hinted: frozenset[str]  # Classes of relations that the sentence states or hints at.


@lru_cache(CACHE_SIZE)
def extract_features(masked: tuple[str, ...]) -> SentenceFeatures:
    """Return the features of a sentence, given its masked words."""
    tokens = join_phrases(masked)
    tags = tuple(tag_word(token) for token in tokens)
    claim = sorted(set(range(len(tokens))).difference(_find_condition(tokens, tags)))
    return SentenceFeatures(
        tokens,
        tags,
        frozenset().union(*tags),
        read_polarity(tokens, tags),
        read_modes(tokens, tags),
        read_modes(tuple(tokens[i] for i in claim), [tags[i] for i in claim]),
        find_sources(tokens),
        find_entity_kinds(tokens),
        find_premise(tokens),
        find_stated(tokens),
        frozenset().union(*map(list_hinted, tokens)),
    )


def compare_polarity(statement: SentenceFeatures, text: SentenceFeatures) -> str | None:
    """Return "polarity" if the text reverses the statement, "modality" if it is more or less sure."""
    # "Unmasked" denies nothing where the statement has "unmask", and "held" denies as much as "withheld".
    said = {stem_word(word) for word, tags in zip(statement.tokens, statement.tags, strict=True) if not tags}
    pauses = WORDS["pausing"].intersection(statement.tokens)
    paused = frozenset().union(*map(tag_word, pauses)) & {"neg"}
    tags = [
        paused if pauses and word in WORDS["pausing"] else tags - {"neg"} if stem_word(word) in said else tags
        for word, tags in zip(text.tokens, text.tags, strict=True)
    ]
    own, other = statement.polarity, read_polarity(text.tokens, tags, statement.polarity.absent)
    ways = set() if "than" in set(statement.tokens).intersection(text.tokens) else {"up", "down"}
    is_turned = False
    if ways & statement.vocabulary and ways & text.vocabulary:
        lost, new = _list_own_tags(statement, text) & ways, _list_own_tags(text, statement) & ways
        is_added = not (ways & text.vocabulary).issubset(statement.vocabulary)
        is_turned = is_added or (bool(lost and new) and lost.isdisjoint(new))
    if is_turned or replace(own, force="") != replace(other, force=""):
        return "polarity"
    is_kept = own.force == other.force and _is_modality_kept(statement, text, other.is_negated)
    return None if is_kept else "modality"


def _list_own_tags(one: SentenceFeatures, other: SentenceFeatures) -> frozenset[str]:
    """Return the tags of the words of a sentence that the other one does not have."""
    pairs = zip(one.tokens, one.tags, strict=True)
    return frozenset().union(*(tags for token, tags in pairs if token not in other.tokens))


def _is_modality_kept(statement: SentenceFeatures, text: SentenceFeatures, is_denied: bool) -> bool:
    """Return whether the text, whose denials are as firm as those of the statement, is as sure as it."""
    changed = (statement.claimed_modes - text.modes) | (text.claimed_modes - statement.modes)
    if _has_past_of(statement.tokens, text.tokens) or _has_past_of(text.tokens, statement.tokens):
        changed -= {"shift"}
    for tag, mode in _IMPLIED_MODES.items():
        if tag in statement.vocabulary or (tag in text.vocabulary and mode not in text.modes):
            changed -= {mode}
    added = {*text.tokens}.difference(statement.tokens)
    is_future = statement.premise is None and not added.isdisjoint(("will", "one_day"))
    if is_denied:
        # "Must not" forbids as "should not" does.
        changed -= {"must", "should"} if {"must", "should"}.issubset(statement.modes ^ text.modes) else set()
        return changed.isdisjoint(_KEPT_IN_DENIALS) and not is_future
    if statement.modes.isdisjoint(_POSSIBLE):
        is_possible = "may" in text.modes or (not statement.stated and _is_made_possible(statement, text))
        is_shifted = is_future or _is_past(statement, text)
        return changed.isdisjoint(_KEPT) and not is_possible and not is_shifted
    # A new word may make the claim weak, as "linked" does in "is linked to".
    new = [tags for token, tags in zip(text.tokens, text.tags, strict=True) if token not in statement.tokens]
    is_possible = not text.modes.isdisjoint(_POSSIBLE) or any("weak" in tags for tags in new)
    return is_possible and (changed - {"hedge"}).isdisjoint(_KEPT)


def _has_past_of(passive: Sequence[str], active: Sequence[str]) -> bool:
    """Return whether "was ratified" of one sentence is "ratified" in the other, which has no other verb."""
    told = {_PAST.get(verb, verb) for auxiliary, verb in pairwise(passive) if auxiliary in ("was", "were")}
    return not told.isdisjoint(active) and WORDS["auxiliaries"].union(_COPULAS).isdisjoint(active)


def _is_past(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether a verb of the statement is the only verb of the text, in the past: "X flexed Y"."""
    present = {stem_word(word) for word in statement.tokens if not word.endswith("ed")}
    past = [at for at, word in enumerate(text.tokens) if word.endswith("ed") and stem_word(word) in present]
    is_alone = WORDS["auxiliaries"].union(_COPULAS).isdisjoint(text.tokens)
    return is_alone and any(not set(SLOTS).isdisjoint(text.tokens[max(0, at - 2) : at]) for at in past)


def _is_made_possible(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text says "can" before a verb of the statement; "can be seen" weakens nothing."""
    if "can" not in text.modes or any(word.endswith(("able", "ible")) for word in statement.tokens):
        # "Is reversible" says that it can be reversed.
        return False
    stems = {stem_word(word) for word in statement.tokens if word not in WORDS["auxiliaries"]}
    following = (text.tokens[at + 1 : at + 6] for at, tags in enumerate(text.tags) if "can" in tags)
    verbs = chain.from_iterable(takewhile(lambda word: word not in WORDS["articles"], x) for x in following)
    return any(stem_word(word) in stems for word in verbs if len(word) > 3)


def are_roles_changed(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether a relation of both has another source in the text, or an entity another kind."""
    premises = {statement.premise, text.premise} - {None}
    changed = {find_changed(statement.tokens), find_changed(text.tokens)} - {None}
    # "A patient takes X, and …" says the condition as a fact.
    is_asserted = statement.premise and not text.premise and bool(_ASSERTING & {*pairwise(text.tokens)})
    kinds = ((statement.entity_kinds[slot], text.entity_kinds[slot]) for slot in SLOTS)
    called = find_nouns(statement.tokens)
    exchanged = {slot: find_nouns(text.tokens).get(SLOTS[slot == SLOTS[0]]) for slot in SLOTS}
    # "X ossifies before Y" and "Y ossifies after X": the class of relation says which one is the source.
    is_ordered = "time" in statement.sources and statement.sources["time"] == text.sources.get("time")
    return (
        any(
            text.sources.get(kind, source) != source and not (is_ordered and kind.startswith("~"))
            for kind, source in statement.sources.items()
        )
        # A relation that has the same source in both says more than what is assumed.
        or (len(premises) == 2 and not statement.sources.items() & text.sources.items())
        or len(changed) == 2
        or bool(is_asserted)
        or any(own and other and own.isdisjoint(other) for own, other in kinds)
        or (called == exchanged and called[SLOTS[0]] != called[SLOTS[1]])
    )
