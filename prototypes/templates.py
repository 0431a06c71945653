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
    default_prompt: str | None = None
    """The base's own template, if the pool has it. Only the method origin uses it."""
    is_draft: bool = False
    """Whether the pool says that nobody has reviewed them."""

    @property
    def origin(self) -> str:
        """Return the base's own template, or what MedLAMA's are: the relation's name between the two names.

        Source: `default_prompt` in data/medlama/prompts.csv of cambridgeltl/medlama (Meng et al., ACL 2022),
        for example `[X] disease has abnormal cell [Y] .` Other white space than there is not kept.
        """
        return self.default_prompt or f"[X] {self.relation.replace('_', ' ')} [Y]."


def build_prototypes(
    relation: str,
    instance: tuple[str, str],
    cells: Mapping[str, Sequence[str]],
    default_prompt: str | None = None,
    *,
    is_draft: bool = False,
) -> RelationPrototypes:
    """Build the prototypes of a relation from its eight cells, each with the prototype first."""
    ordered = {name: Cell(cells[name][0], tuple(cells[name][1:])) for name in NAMES}
    return RelationPrototypes(relation, instance, ordered, default_prompt, is_draft)
