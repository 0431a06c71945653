"""Check the texts of a draft again after a person has accepted, rewritten or rejected each of them."""

from collections.abc import Mapping

from drafting.cells import (
    NOBODY,
    WRITTEN,
    Draft,
    DraftedCell,
    check_denial,
    check_given,
    check_written,
    order_cells,
)
from schemas.transformations import POSITIVE_OF

ORDER = ("none", *WRITTEN, *sorted(POSITIVE_OF, key=lambda name: name != "dn"))
"""Each cell comes after those with which it is compared."""


def check_reviewed(relation: str, accepted: Mapping[str, DraftedCell], reviewer: str) -> Draft:
    """Return the draft with the accepted texts, each checked as a drafted one is; the other cells are marked.

    Args:
        accepted: transformation -> a text that the reviewer called right or wrote; `none` is among them.
    """
    cells: dict[str, DraftedCell] = {}
    for name in ORDER:
        if (cell := accepted.get(name)) is None or cell.text is None:
            cells[name] = DraftedCell(name, None, NOBODY, (f"rejected by {reviewer}",))
        else:
            cells[name] = DraftedCell(name, cell.text, cell.origin, _find_marks(name, cell.text, cells))
    return order_cells(relation, cells)


def _find_marks(name: str, text: str, cells: Mapping[str, DraftedCell]) -> tuple[str, ...]:
    if name == "none":
        return tuple(check_given(text))
    if name in WRITTEN:
        return tuple(check_written(name, text, cells.values()))
    partner = cells[POSITIVE_OF[name]]
    if not partner.is_passing:
        return (f"{partner.transformation}, which it denies, is not accepted",)
    return tuple(check_denial(name, text, cells))
