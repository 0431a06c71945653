"""Check the wordings of a user's own pool with the gate, and list those that it would reject."""

from collections.abc import Iterator

import polars as pl

from gate import check_rewordings
from tasks.edition.edition import Edition
from tasks.edition.statements import write_sentence

MAX_WARNINGS_SHOWN = 20


def render_wording_warnings(edition: Edition) -> str | None:
    """Return one line per doubtful wording, with the text and the reasons; null if there is none.

    Every wording of a cell is compared with the prototype of the cell, both filled with the names of the
    first tested triplet. The wordings of a bundled pool were reviewed, and are not checked again.
    """
    if not edition.has_triplets:
        return None
    own = [name for name in edition.base.relations if not edition.pool.is_reviewed(name)]
    found = [line for relation in own for line in _check_relation(edition, relation)]
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
        write_sentence(pl.col("template")).alias("text"),
        write_sentence(pl.col("prototype")).alias("statement"),
    )
    other = frame.filter(pl.col("text") != pl.col("statement"))
    for cell, text, reasons in zip(other["cell"], other["text"], check_rewordings(other), strict=True):
        if reasons:
            yield f"  {relation}, {cell}: {text!r}: {', '.join(reasons)}"
