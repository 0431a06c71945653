"""Find words that were replaced by their opposites: "more" by "less", "abnormal" by "normal"."""

from collections.abc import Sequence

from gate.entities import SLOTS
from gate.polarity import Tags
from gate.vocabulary import load_words

_PHRASE_ENDS = load_words("phrase_ends")
_CONTRADICTORY = ("normal", "abnormal")


def has_contradictory_word(statement: frozenset[str], text: frozenset[str]) -> bool:
    """Return whether the text has the contradictory of a word: another negation restores the meaning."""
    return _is_replaced(statement, text, *_CONTRADICTORY)


def has_contrary_word(statement: frozenset[str], text: frozenset[str]) -> bool:
    """Return whether the text has the contrary of a word: no negation can restore the meaning."""
    return _is_replaced(statement, text, "up", "down") or _is_replaced(statement, text, "good", "bad")


def _is_replaced(statement: frozenset[str], text: frozenset[str], one: str, other: str) -> bool:
    if one in statement:
        return other not in statement and other in text and one not in text
    return other in statement and one in text and other not in text


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


def are_directions_swapped(statement: dict[str, str], text: dict[str, str]) -> bool:
    """Return whether a slot goes up in one sentence and down in the other."""
    return any(text.get(slot, change) != change for slot, change in statement.items())
