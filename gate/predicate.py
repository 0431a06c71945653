"""Compare the kinds of relation of two sentences: what follows in time is not what causes."""

from gate.reading import Reading

# Kinds that a sentence states by name, and that no other wording implies.
_STATED = frozenset(("cause", "treat", "prevent", "time", "encode", "origin"))
_NEVER_ADDED = frozenset(("treat", "prevent", "time", "worse", "cause"))
_REMEDIES = frozenset(("treat", "prevent"))


def is_other_predicate(statement: Reading, text: Reading) -> bool:
    """Whether the text states another kind of relation than the statement, or not its kind any more."""
    added = (text.stated & _NEVER_ADDED) - statement.hinted
    # In "if X, then Y" what is given leads to the rest in a manner of speaking.
    is_consequence = added == {"cause"} and statement.given is not None and "lead_to" in text.tokens
    if added and not is_consequence:
        return True
    if "time" in statement.stated and "hazard" in text.hinted - statement.hinted:
        return True
    if _adds_direction(statement.vocabulary, text.vocabulary, statement.stated):
        return True
    own = statement.stated & _STATED
    return bool(own) and not own & text.hinted


def _adds_direction(statement: frozenset[str], text: frozenset[str], stated: frozenset[str]) -> bool:
    """Whether the text adds that something rises, falls or is abnormal."""
    if "normal" in statement and "abnormal" in text - statement:
        return True
    if statement & {"up", "down"}:
        return False
    if "up" in text and ("risk" not in text or stated & _REMEDIES):
        return True
    return "down" in text and not stated & _REMEDIES
