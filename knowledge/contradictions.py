"""Rows that a source asserts to be false although other rows say that they are true."""

from collections.abc import Iterator

import polars as pl

from knowledge.spelling import list_name_keys
from primitives.errors import InputError

N_SHOWN = 5
"""Wrong rows that a message names."""
# The place of a row in its source, for messages.
PLACE = pl.format(
    "{}, {} {}",
    pl.col("file"),
    pl.when(pl.col("file").str.to_lowercase().str.ends_with(".parquet"))
    .then(pl.lit("row index"))
    .when(pl.col("file").str.to_lowercase().str.ends_with(".sql"))
    .then(pl.lit("row of the result"))
    .otherwise(pl.lit("line")),
    pl.col("row"),
)
_CELLS = ("relation", "head", "head_id", "tail", "tail_id")
Key = tuple[str, str, str]


def require_no_contradiction(rows: pl.DataFrame) -> None:
    """Raise InputError if a row marked also_false and a row that is not state the same triplet.

    Names are compared folded; heads or tails with the same id are the same.

    Args:
        rows: clean rows of a source, with also_false as a boolean.
    """
    asserted = rows.filter("also_false")
    if asserted.is_empty():
        return
    true_places: dict[Key, str] = {}
    for place, *cells in rows.filter(~pl.col("also_false")).select(PLACE, *_CELLS).iter_rows():
        for key in _list_keys(*cells):
            true_places.setdefault(key, place)
    found = []
    for place, *cells in asserted.select(PLACE, *_CELLS).iter_rows():
        true_place = next((true_places[key] for key in _list_keys(*cells) if key in true_places), None)
        if true_place is not None:
            relation, head, _, tail, _ = cells
            found.append(
                f"{place}: {relation}: {head} → {tail} is marked also_false, but {true_place} says that it "
                "is true: delete one of them"
            )
    if found:
        rest = [f"and {len(found) - N_SHOWN} more"] if len(found) > N_SHOWN else []
        raise InputError("\n  ".join([*found[:N_SHOWN], *rest]))


def _list_keys(
    relation: str, head: str, head_id: str | None, tail: str, tail_id: str | None
) -> Iterator[Key]:
    """Yield the keys of a triplet: two triplets are the same if they have a key in common."""
    for head_key in list_name_keys(head, head_id):
        for tail_key in list_name_keys(tail, tail_id):
            yield relation, head_key, tail_key
