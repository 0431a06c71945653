"""Check the wordings of a user's own pool with the gate, and list those that it would reject."""

from collections.abc import Iterator

import polars as pl

from gate import check_rewordings
from prototypes.templates import RelationPrototypes
from schemas.transformations import POSITIVE_OF
from tasks.edition.edition import Edition
from tasks.edition.sentences import write_sentence

MAX_WARNINGS_SHOWN = 20


def render_wording_warnings(edition: Edition) -> str | None:
    """Return one line per doubtful wording, with the text and the reasons; null if there is none.

    The wordings of a cell are compared with the prototype of the cell, and the prototypes of the other cells
    with that of `none`, or of `dn` if they deny. All are filled with the names of the first tested triplet.
    The texts of a bundled pool were reviewed, and are not checked again.
    """
    if not edition.has_triplets:
        return None
    own = [name for name in edition.base.relations if not edition.pool.is_reviewed(name)]
    found = [line for relation in own for line in _check_relation(edition, relation)]
    if not found:
        return None
    # Sound wordings of relations that the gate does not know are often rejected for the predicate alone.
    found.sort(key=lambda line: line.endswith(": predicate"))
    n_more = len(found) - MAX_WARNINGS_SHOWN
    more = [f"  … and {n_more:,} more"] if n_more > 0 else []
    pool = edition.pool.path or edition.pool.name
    head = (
        f"texts of {pool} that the gate would reject: {len(found):,}; a run uses them as they are written, "
        "so check that they keep the meaning of their prototype, and prototypes that of `none` or `dn`"
    )
    return "\n".join([head, *found[:MAX_WARNINGS_SHOWN], *more])


def _check_relation(edition: Edition, relation: str) -> Iterator[str]:
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
            yield f"  [{relation}] {cell}: {template!r}: {', '.join(reasons)}"


def _list_pairs(prototypes: RelationPrototypes) -> Iterator[tuple[str, str, str]]:
    """Yield cell, text, and the text of the same meaning with which the gate compares it."""
    for name, cell in prototypes.cells.items():
        first = "dn" if name in POSITIVE_OF else "none"
        if name != first:
            yield name, cell.prototype, prototypes.cells[first].prototype
        for wording in cell.wordings:
            yield name, wording, cell.prototype
