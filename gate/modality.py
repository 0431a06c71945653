"""Compare two sentences: does the text affirm or deny the same, as firmly and as surely as its statement?"""

from gate.features import SentenceFeatures

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
