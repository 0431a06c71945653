"""Find words that were replaced by their opposites: "more" by "less", "abnormal" by "normal"."""

from collections.abc import Sequence

from gate.entities import SLOTS
from gate.polarity import Tags
from gate.vocabulary import load_words

_PHRASE_ENDS = load_words("phrase_ends")
_OPPOSITES = (("up", "down"), ("good", "bad"), ("normal", "abnormal"))


def has_opposite_word(statement: frozenset[str], text: frozenset[str]) -> bool:
    """Return whether the text has "less" for "more", "harm" for "good", or "normal" for "abnormal"."""
    return any(
        one in statement - text and other in text - statement
        for pair in _OPPOSITES
        for one, other in (pair, pair[::-1])
    )


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
