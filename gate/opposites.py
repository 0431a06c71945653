"""Words put for their opposites: "less" for "more", "normal" for "abnormal"."""

from collections.abc import Sequence

from gate.polarity import SLOTS, Tags

_CONTRADICTORY = ("normal", "abnormal")


def is_turned_round(statement: frozenset[str], text: frozenset[str]) -> bool:
    """Whether the text says the opposite of a word that a negation would restore."""
    return _is_swapped(statement, text, *_CONTRADICTORY)


def is_contrary(statement: frozenset[str], text: frozenset[str]) -> bool:
    """Whether the text says the contrary of a word, which no negation mends."""
    return _is_swapped(statement, text, "up", "down") or _is_swapped(statement, text, "good", "bad")


def _is_swapped(statement: frozenset[str], text: frozenset[str], one: str, other: str) -> bool:
    if one in statement:
        return other not in statement and other in text and one not in text
    return other in statement and one in text and other not in text


def find_directions(tokens: Sequence[str], tags: Tags) -> dict[str, str]:
    """Slot -> whether what is said of it goes "up" or "down", by the words of change next to it."""
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    found: dict[str, set[str]] = {}
    for at, tag in enumerate(tags):
        if places and (change := tag & {"up", "down"}):
            # Of two slots as near, the one behind.
            _, _, nearest = min((abs(place - at), place < at, place) for place in places)
            found.setdefault(tokens[nearest], set()).update(change)
    return {slot: changes.pop() for slot, changes in found.items() if len(changes) == 1}


def are_directions_swapped(statement: dict[str, str], text: dict[str, str]) -> bool:
    """Whether what goes up in one sentence goes down in the other."""
    return any(text.get(slot, change) != change for slot, change in statement.items())
