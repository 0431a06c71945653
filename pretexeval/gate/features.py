"""Extract from the words of a masked sentence the features that the checks compare."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pretexeval.gate.kinds import find_entity_kinds, find_hinted, find_noun_kinds, find_stated
from pretexeval.gate.lexicon import AUXILIARIES, CACHE_SIZE, CONDITIONS, join_phrases, load_words, tag_word
from pretexeval.gate.names import SLOTS
from pretexeval.gate.roles import find_premise, find_sources

Tags = Sequence[frozenset[str]]
_NEGATING_TAGS = frozenset(("neg", "rare", "unlike", "doubt"))
_MAY = load_words("may")
_FORCES = {"no_longer": "no longer", "doubt": "doubtful", "unlike": "unlikely", "rare": "not often"}
# These deny the entity itself if it follows directly.
_PRIVATIVE = load_words("privative")
_LIGHT = frozenset(("the", "a", "an", "any", "of", "in", "from", "with", "for"))
_OPENING = load_words("opening")
_PHRASE_ENDS = AUXILIARIES | CONDITIONS | {"not", "then", "that", "by", ","}
_MODES = frozenset(("may", "can", "often", "mainly", "likely", "must", "only", "should"))


@dataclass(frozen=True)
class Polarity:
    """Whether a sentence negates its condition and its claim, and how firm the denial is."""

    is_condition_negated: bool
    is_negated: bool
    force: str
    """affirmed, denied, or less: not always, not often, often not, may not, unlikely, doubtful, no longer."""


def read_polarity(tokens: Sequence[str], tags: Tags) -> Polarity:
    """Return the polarity of a masked sentence."""
    negations = [i for i, found in enumerate(tags) if found & _NEGATING_TAGS]
    if not negations:
        return Polarity(False, False, "affirmed")
    condition = frozenset(_find_condition(tokens, tags, negations))
    in_condition = [i for i in negations if i in condition]
    claimed = [i for i in negations if i not in condition and not _continues_negation(tokens, i)]
    is_negated = len(claimed) % 2 == 1
    force = _find_force(tokens, tags, claimed) if is_negated else "affirmed"
    return Polarity(len(in_condition) % 2 == 1, is_negated, force)


def _continues_negation(tokens: Sequence[str], at: int) -> bool:
    """Return whether this is a "nor" that only continues an earlier negation."""
    return tokens[at] == "nor" and any(word in ("neither", "not", "no", "never") for word in tokens[:at])


def _find_condition(tokens: Sequence[str], tags: Tags, negations: Sequence[int]) -> Iterator[int]:
    """Yield the negations that are part of a condition or of the description of the subject."""
    slots = [i for i, token in enumerate(tokens) if token in SLOTS]
    first = slots[0] if slots else len(tokens)
    for start, end in _find_conditional_clauses(tokens, tags, slots):
        yield from (i for i in negations if start <= i < end)
    if len(slots) < 2:
        return
    for i in negations:
        if i < first and _denies_subject(tokens, i, first):
            yield i


def _find_conditional_clauses(
    tokens: Sequence[str], tags: Tags, slots: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each condition; words such as "given" open one only at the start of a clause."""
    for i, found in enumerate(tags):
        if "if" in found and (tokens[i] in CONDITIONS or i == 0 or tokens[i - 1] == ","):
            inner = [slot for slot in slots if slot > i]
            after = inner[0] + 1 if inner else len(tokens)
            ends = [j for j in range(after, len(tokens)) if tokens[j] in (",", "then")]
            is_last = len(inner) < 2
            yield i, ends[0] if ends else len(tokens) if is_last else after


def _denies_subject(tokens: Sequence[str], at: int, first: int) -> bool:
    """Return whether the sentence begins with an absence: "without X, …", "a patient lacking X …"."""
    if tokens[at] not in _PRIVATIVE or any(
        token not in _LIGHT and not find_noun_kinds(token) for token in tokens[at + 1 : first]
    ):
        return False
    opening = [token for token in tokens[:at] if token not in _LIGHT]
    return all(token in _OPENING for token in opening)


def _find_force(tokens: Sequence[str], tags: Tags, negations: Sequence[int]) -> str:
    """Return how firm the denial is that the negations of the claim make together."""
    all_tags = frozenset().union(*tags)
    for tag, force in _FORCES.items():
        if tag in all_tags:
            return force
    for at in negations:
        if weaker := _find_weaker_force(tokens, tags, at):
            return weaker
    if "likely" in all_tags:
        return "unlikely"
    return "not often" if "often" in all_tags else "denied"


def _find_weaker_force(tokens: Sequence[str], tags: Tags, at: int) -> str | None:
    """Return the weaker force that the words around the negation give it; None if they do not weaken it."""
    reach = []
    for j in range(at + 1, min(at + 5, len(tokens))):
        if tokens[j] in SLOTS or tokens[j] == ",":
            break
        reach.append(tags[j])
    if any("must" in found for found in reach) or any("imply" in found for found in reach[:2]):
        return "not always"
    if any("evidence" in found for found in reach):
        return "doubtful"
    if tokens[at - 1] == "need":
        return "not always"
    if tokens[at] != "no" and not _MAY.isdisjoint(tokens[max(0, at - 2) : at]):
        return "may not"
    return "often not" if any("often" in found for found in tags[max(0, at - 2) : at]) else None


def read_modes(tags: Tags) -> frozenset[str]:
    """Return the modes that the words of a sentence express."""
    found = frozenset().union(*tags) & _MODES
    # "No X other than Y" means only Y.
    if any("exclusive" in word for word in tags) and sum("neg" in word for word in tags) > 1:
        found |= {"only"}
    # "Not uncommon" means common, and "not unlikely" means likely.
    n_rare = sum("rare" in word for word in tags)
    return found | {"often"} if n_rare and any("neg" in word for word in tags) else found


def find_directions(tokens: Sequence[str], tags: Tags) -> dict[str, str]:
    """Return slot -> "up" or "down"; a change counts for the next slot of its phrase, or the last one."""
    found: dict[str, set[str]] = {}
    for at, tag in enumerate(tags):
        if change := tag & {"up", "down"}:
            slot = _find_slot(tokens[at + 1 :]) or _find_slot(tokens[:at][::-1], is_bounded=False)
            if slot is not None:
                found.setdefault(slot, set()).update(change)
    return {slot: changes.pop() for slot, changes in found.items() if len(changes) == 1}


def _find_slot(tokens: Sequence[str], is_bounded: bool = True) -> str | None:
    """Return the first slot before the end of the phrase."""
    for token in tokens:
        if token in SLOTS:
            return token
        if is_bounded and (token in _PHRASE_ENDS or "_" in token):
            return None
    return None


@dataclass(frozen=True)
class SentenceFeatures:
    """The features of one sentence whose entities are slots."""

    tokens: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    vocabulary: frozenset[str]
    """All tags that occur in the sentence."""
    polarity: Polarity
    modes: frozenset[str]
    sources: dict[str, str]
    """Class of relation -> the slot that is its source."""
    entity_kinds: dict[str, frozenset[str]]
    """Slot -> the kinds of thing that the sentence calls the entity."""
    directions: dict[str, str]
    """Slot -> "up" or "down", if the sentence says that something about it rises or falls."""
    premise: str | None
    """The slot that the sentence assumes: X in "if X, then Y"."""
    stated: frozenset[str]
    """Classes of relations that the sentence states explicitly."""
    hinted: frozenset[str]
    """Classes of relations that the sentence states or hints at."""


@lru_cache(CACHE_SIZE)
def extract_features(masked: tuple[str, ...]) -> SentenceFeatures:
    """Return the features of a sentence, given its masked words."""
    tokens = join_phrases(masked)
    tags = tuple(tag_word(token) for token in tokens)
    premise = find_premise(tokens)
    return SentenceFeatures(
        tokens,
        tags,
        frozenset().union(*tags),
        read_polarity(tokens, tags),
        read_modes(tags),
        find_sources(tokens),
        find_entity_kinds(tokens),
        find_directions(tokens, tags),
        premise,
        find_stated(tokens),
        find_hinted(tokens),
    )


_OPPOSITES = (("up", "down"), ("good", "bad"), ("normal", "abnormal"))
_KEPT = ("must", "only", "often", "mainly", "likely", "should")
_KEPT_IN_DENIALS = ("must", "only", "mainly", "should")
_POSSIBLE = frozenset(("may", "can"))


def compare_polarity(statement: SentenceFeatures, text: SentenceFeatures) -> str | None:
    """Return "polarity" if the text reverses the statement, "modality" if it is more or less sure."""
    own, other = statement.polarity, text.polarity
    if (
        _has_opposite_word(statement.vocabulary, text.vocabulary)
        or any(text.directions.get(slot, way) != way for slot, way in statement.directions.items())
        or (own.is_condition_negated, own.is_negated) != (other.is_condition_negated, other.is_negated)
    ):
        return "polarity"
    return None if own.force == other.force and _is_modality_kept(statement, text) else "modality"


def _has_opposite_word(statement: frozenset[str], text: frozenset[str]) -> bool:
    """Return whether the text has "less" for "more", "harm" for "good", or "normal" for "abnormal"."""
    return any(
        one in statement - text and other in text - statement
        for pair in _OPPOSITES
        for one, other in (pair, pair[::-1])
    )


def _is_modality_kept(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text, whose denials are as firm as those of the statement, is as sure as it."""
    is_denied = text.polarity.force != "affirmed"
    if not (statement.modes ^ text.modes).isdisjoint(_KEPT_IN_DENIALS if is_denied else _KEPT):
        return False
    if is_denied:
        return True
    if statement.modes.isdisjoint(_POSSIBLE):
        return "may" not in text.modes
    # A new word may make the claim weak, as "linked" does in "is linked to".
    new = [tags for token, tags in zip(text.tokens, text.tags, strict=True) if token not in statement.tokens]
    return not text.modes.isdisjoint(_POSSIBLE) or any("weak" in tags for tags in new)
