"""Whether a rewording is as sure as its statement: possible, usual, certain, advised."""

from gate.polarity import Polarity, Tags

_MODES = frozenset(("may", "can", "weak", "often", "likely", "must", "only", "should"))
_KEPT = ("must", "only", "often", "likely", "should")
_POSSIBLE = frozenset(("may", "can"))


def read_modes(tags: Tags) -> frozenset[str]:
    """The modes that the words of a sentence express."""
    found = frozenset().union(*tags) & _MODES
    # "Not uncommon" is common, "not unlikely" likely.
    n_rare = sum("rare" in word for word in tags)
    return found | {"often"} if n_rare and any("neg" in word for word in tags) else found


def compare_polarity(statement: Polarity, text: Polarity, is_turned: bool) -> str | None:
    """What is lost of the polarity: "polarity", "modality" where a denial is only weakened, or None.

    Args:
        is_turned: whether the text puts an opposite for a word of the statement.
    """
    if statement.is_condition_negated != text.is_condition_negated:
        return "polarity"
    if (statement.is_negated != text.is_negated) != is_turned:
        return "polarity"
    if not is_turned and statement.force != text.force:
        return "modality"
    return None


def compare_modes(statement: frozenset[str], text: frozenset[str], force: str) -> bool:
    """Whether the text is as sure as the statement."""
    if force != "affirmed":
        return ("only" in text) == ("only" in statement)
    if any((mode in statement) != (mode in text) for mode in _KEPT):
        return False
    if statement & _POSSIBLE:
        return bool(text & (_POSSIBLE | {"weak"}))
    return "may" not in text
