"""The templates of a relation: eight cells, each with a prototype and its further wordings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.transformations import NAMES

_SLOT = re.compile(r"(\[[XY]\])")


def fill_slots(template: str, head: str, tail: str) -> str:
    """Return the template with the names in its slots, in one pass, because names may contain `[X]`."""
    names = {"[X]": head, "[Y]": tail}
    return "".join(names.get(part, part) for part in _SLOT.split(template))


@dataclass(frozen=True)
class Cell:
    """The templates of one relation and one transformation."""

    prototype: str
    wordings: tuple[str, ...] = ()
    """Further texts with the same meaning. Those of bundled pools were reviewed by hand."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the prototype, then the wordings."""
        return (self.prototype, *self.wordings)


@dataclass(frozen=True)
class RelationPrototypes:
    """All templates of one relation, with one cell for each of the eight transformations."""

    relation: str
    instance: tuple[str, str]
    """Names of the predicates P(X, x) and Q(x, Y) of the instantiated form."""
    cells: dict[str, Cell]
    """Transformation -> cell, in the order of the transformations."""


def build_prototypes(
    relation: str, instance: tuple[str, str], cells: Mapping[str, Sequence[str]]
) -> RelationPrototypes:
    """Build the prototypes of a relation from its eight cells, each with the prototype first."""
    ordered = {name: Cell(cells[name][0], tuple(cells[name][1:])) for name in NAMES}
    return RelationPrototypes(relation, instance, ordered)
