"""The eight predicate transformations (method, section 1), always stored and shown in this order."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Transformation:
    """One composition of inversion, instantiation and denial, which the papers call double negation."""

    name: str
    is_inverted: bool
    is_instantiated: bool
    is_negated: bool


TRANSFORMATIONS: tuple[Transformation, ...] = (
    Transformation("none", is_inverted=False, is_instantiated=False, is_negated=False),
    Transformation("inv", is_inverted=True, is_instantiated=False, is_negated=False),
    Transformation("ins", is_inverted=False, is_instantiated=True, is_negated=False),
    Transformation("inv_ins", is_inverted=True, is_instantiated=True, is_negated=False),
    Transformation("dn", is_inverted=False, is_instantiated=False, is_negated=True),
    Transformation("inv_dn", is_inverted=True, is_instantiated=False, is_negated=True),
    Transformation("ins_dn", is_inverted=False, is_instantiated=True, is_negated=True),
    Transformation("inv_ins_dn", is_inverted=True, is_instantiated=True, is_negated=True),
)
NAMES: tuple[str, ...] = tuple(t.name for t in TRANSFORMATIONS)
# Negated transformation -> the transformation that it contradicts.
POSITIVE_OF: dict[str, str] = {
    "dn": "none",
    "inv_dn": "inv",
    "ins_dn": "ins",
    "inv_ins_dn": "inv_ins",
}
