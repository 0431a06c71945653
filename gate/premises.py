"""Find the premise of a sentence: the entity that it assumes, such as X in "if X, then Y"."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from gate.entities import SLOTS
from gate.lexicon import ARTICLES, AUXILIARIES, CONDITIONS, tag_word
from gate.vocabulary import CACHE_SIZE, list_words, load_words

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
