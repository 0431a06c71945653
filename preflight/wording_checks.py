"""Check the wordings of a user's own pool with the gate, and list those that it would reject."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from gate import check_rewordings
from prototypes.templates import RelationPrototypes
from schemas.transformations import POSITIVE_OF
from tasks.edition.edition import Edition
from tasks.edition.sentences import write_sentence

MAX_WARNINGS_SHOWN = 20


@dataclass(frozen=True)
class DoubtfulWording:
    """A text of the user's pool that the gate would reject."""

    relation: str
    cell: str
    """The transformation."""
    template: str
    reasons: tuple[str, ...]


def find_doubtful_wordings(edition: Edition) -> list[DoubtfulWording]:
    """Return the doubtful texts of the pool; those rejected for the predicate alone are last.

    The wordings of a cell are compared with the prototype of the cell, and the prototypes of the other cells
    with that of `none`, or of `dn` if they deny. All are filled with the names of the first tested triplet.
    The texts of a bundled pool were reviewed, and are not checked again. Nothing is found if the gate is off.
    """
    if not edition.has_triplets or edition.config.rephraser.gate == "off":
        return []
    own = [name for name in edition.base.relations if not edition.pool.is_reviewed(name)]
    found = [each for relation in own for each in _check_relation(edition, relation)]
    # Sound wordings of relations that the gate does not know are often rejected for the predicate alone.
    return sorted(found, key=lambda each: each.reasons == ("predicate",))


def render_wording_warnings(edition: Edition, found: Sequence[DoubtfulWording]) -> str | None:
    """Return one line per doubtful wording, with the text and the reasons; null if there is none."""
    if not found:
        return None
    lines = [
        f"  [{each.relation}] {each.cell}: {each.template!r}: {', '.join(each.reasons)}"
        for each in found[:MAX_WARNINGS_SHOWN]
    ]
    n_more = len(found) - MAX_WARNINGS_SHOWN
    more = [f"  … and {n_more:,} more"] if n_more > 0 else []
    pool = edition.pool.path or edition.pool.name
    head = (
        f"texts of {pool} that the gate would reject: {len(found):,}; a run uses them as they are written, "
        "so check that they keep the meaning of their prototype, and prototypes that of `none` or `dn`"
    )
    return "\n".join([head, *lines, *more])


def _check_relation(edition: Edition, relation: str) -> Iterator[DoubtfulWording]:
    triplets = edition.base.select_relation(relation).filter(~pl.col("also_true"))
    names = triplets.select("head", "tail").row(0, named=True)
    frame = pl.DataFrame(
        [
            {"cell": cell, "template": template, "prototype": prototype, **names}
            for cell, template, prototype in _list_pairs(edition.pool.select_relation(relation))
        ]
    ).with_columns(
        write_sentence(pl.col("template")).alias("text"),
        write_sentence(pl.col("prototype")).alias("statement"),
    )
    for cell, template, reasons in zip(
        frame["cell"], frame["template"], check_rewordings(frame), strict=True
    ):
        if reasons:
            yield DoubtfulWording(relation, cell, template, tuple(reasons))


def _list_pairs(prototypes: RelationPrototypes) -> Iterator[tuple[str, str, str]]:
    """Yield cell, text, and the text of the same meaning with which the gate compares it."""
    for name, cell in prototypes.cells.items():
        first = "dn" if name in POSITIVE_OF else "none"
        if name != first:
            yield name, cell.prototype, prototypes.cells[first].prototype
        for wording in cell.wordings:
            yield name, wording, cell.prototype
