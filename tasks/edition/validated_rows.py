"""The rows of a stage in the parts in which they are validated, which are of a bounded size."""

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from storage.files import FileRef
from tasks.edition.edition import Edition

MAX_ROWS = 150_000
"""Rows that are validated together, unless a single piece has more."""


def iterate_validated(
    edition: Edition, files: Mapping[str, FileRef], read: Callable[[str], pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yield all rows of a stage, in the order of the pieces.

    A part that begins with a further piece of a long relation has the
    demonstrations of the relation too, because expectations are about relations that have both splits.

    Args:
        files: name of a piece -> its file.
        read: returns the rows of a piece.
    """
    waiting: list[pl.DataFrame] = []
    held: str | None = None
    for name, ref in files.items():
        if waiting and sum(frame.height for frame in waiting) + ref.n_rows > MAX_ROWS:
            yield pl.concat(waiting)
            waiting, held = [], None
        relation = edition.pieces[name].relation
        if name != relation != held:
            waiting.append(read(relation).filter(split="demonstration"))
        waiting.append(read(name))
        held = relation
    yield pl.concat(waiting)
