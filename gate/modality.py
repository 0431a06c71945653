"""Compare how sure a rewording and its statement are: possible, usual, certain, advised."""

from gate.polarity import Polarity, Tags

_MODES = frozenset(("may", "can", "often", "mainly", "likely", "must", "only", "should"))
_KEPT = ("must", "only", "often", "mainly", "likely", "should")
_POSSIBLE = frozenset(("may", "can"))


def read_modes(tags: Tags) -> frozenset[str]:
    """Return the modes that the words of a sentence express."""
    found = frozenset().union(*tags) & _MODES
    # "No X other than Y" means only Y.
    if any("exclusive" in word for word in tags) and sum("neg" in word for word in tags) > 1:
        found |= {"only"}
    # "Not uncommon" means common, and "not unlikely" means likely.
    n_rare = sum("rare" in word for word in tags)
    return found | {"often"} if n_rare and any("neg" in word for word in tags) else found


def compare_polarity(statement: Polarity, text: Polarity) -> str | None:
    """Return "polarity" if the text reverses the statement, "modality" if only its force changes."""
    if (statement.is_condition_negated, statement.is_negated) != (text.is_condition_negated, text.is_negated):
        return "polarity"
    return None if statement.force == text.force else "modality"


def is_modality_kept(statement: frozenset[str], text: frozenset[str], is_hedged: bool, force: str) -> bool:
    """Return whether the text is as sure as the statement.

    Args:
        is_hedged: whether a new word of the text makes its claim weak, as "linked" does in "is linked to".
    """
    if force != "affirmed":
        return all((mode in text) == (mode in statement) for mode in ("must", "only", "should", "mainly"))
    if any((mode in statement) != (mode in text) for mode in _KEPT):
        return False
    if statement & _POSSIBLE:
        return is_hedged or bool(text & _POSSIBLE)
    return "may" not in text
