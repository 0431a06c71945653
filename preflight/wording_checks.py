"""Check the wordings of a user's own pool with the gate, and list those that it would reject."""

from collections.abc import Iterator

import polars as pl

from gate import check_rewordings
from prototypes.pool import list_bundled, load_pool
from tasks.edition.edition import Edition
from tasks.edition.statements import fill_template

MAX_WARNINGS_SHOWN = 20


def render_wording_warnings(edition: Edition) -> str | None:
    """Return one line per doubtful wording, with the text and the reasons; null if there is none.

    Every wording of a cell is compared with the prototype of the cell, both filled with the names of the
    first tested triplet. The wordings of a bundled pool were reviewed, and are not checked again.
    """
    if not edition.has_triplets or edition.config.edition.pool in list_bundled():
        return None
    reviewed = [load_pool(name).relations for name in list_bundled()]
    found = [
        line
        for relation in edition.base.relations
        # A pool may extend a bundled one.
        if edition.pool.relations[relation] not in [pool.get(relation) for pool in reviewed]
        for line in _check_relation(edition, relation)
    ]
    if not found:
        return None
    n_more = len(found) - MAX_WARNINGS_SHOWN
    more = [f"  … and {n_more:,} more"] if n_more > 0 else []
    head = f"wordings that the gate doubts (read them; a run uses them as they are): {len(found):,}"
    return "\n".join([head, *found[:MAX_WARNINGS_SHOWN], *more])


def _check_relation(edition: Edition, relation: str) -> Iterator[str]:
    triplets = edition.base.select_relation(relation).filter(~pl.col("also_true"))
    names = triplets.select("head", "tail").row(0, named=True)
    rows = [
        {"cell": name, "template": template, "prototype": cell.prototype, **names}
        for name, cell in edition.pool.select_relation(relation).cells.items()
        for template in cell.texts
    ]
    frame = pl.DataFrame(rows).with_columns(
        fill_template(pl.col("template")).alias("text"), fill_template(pl.col("prototype")).alias("statement")
    )
    other = frame.filter(pl.col("text") != pl.col("statement"))
    for cell, text, reasons in zip(other["cell"], other["text"], check_rewordings(other), strict=True):
        if reasons:
            yield f"  {relation}, {cell}: {text!r}: {', '.join(reasons)}"
