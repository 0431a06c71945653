"""Find words that were replaced by their opposites: "more" by "less", "abnormal" by "normal"."""

from collections.abc import Sequence

from gate.entities import SLOTS
from gate.polarity import Tags

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
    """Return slot -> "up" or "down"; each word of change counts for the slot that is nearest to it."""
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    found: dict[str, set[str]] = {}
    for at, tag in enumerate(tags):
        if places and (change := tag & {"up", "down"}):
            # If two slots are equally near, the later one counts.
            _, _, nearest = min((abs(place - at), place < at, place) for place in places)
            found.setdefault(tokens[nearest], set()).update(change)
    return {slot: changes.pop() for slot, changes in found.items() if len(changes) == 1}


def are_directions_swapped(statement: dict[str, str], text: dict[str, str]) -> bool:
    """Return whether a slot goes up in one sentence and down in the other."""
    return any(text.get(slot, change) != change for slot, change in statement.items())
