"""Compare the kinds of relation of two sentences: "follows in time" is not "is caused by"."""

from gate.sentence_features import SentenceFeatures

# A rewording must name these kinds, because no other wording implies them.
_NEVER_IMPLIED = frozenset(("cause", "treat", "prevent", "time", "encode", "origin"))
_NEVER_ADDED = frozenset(("treat", "prevent", "time", "worse", "cause"))
_REMEDIES = frozenset(("treat", "prevent"))


def is_predicate_changed(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text adds a kind of relation to those of the statement, or loses its kind."""
    added = (text.stated & _NEVER_ADDED) - statement.hinted
    # In "if X, then Y", X leads to Y only figuratively.
    is_consequence = added == {"cause"} and statement.premise is not None and "lead_to" in text.tokens
    if added and not is_consequence:
        return True
    if "time" in statement.stated and "hazard" in text.hinted - statement.hinted:
        return True
    if _adds_direction(statement.vocabulary, text.vocabulary, statement.stated):
        return True
    statement_kinds = statement.stated & _NEVER_IMPLIED
    return bool(statement_kinds) and not statement_kinds & text.hinted


def _adds_direction(statement: frozenset[str], text: frozenset[str], stated: frozenset[str]) -> bool:
    """Return whether the text adds that something rises, falls or is abnormal."""
    if "normal" in statement and "abnormal" in text - statement:
        return True
    if statement & {"up", "down"}:
        return False
    if "up" in text and ("risk" not in text or stated & _REMEDIES):
        return True
    return "down" in text and not stated & _REMEDIES
