"""Rows that a source asserts to be false although other rows say that they are true."""

import polars as pl

from knowledge.same_triplets import pair_same_triplets
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


def require_no_contradiction(rows: pl.DataFrame) -> None:
    """Raise InputError if a row marked also_false and a row that is not state the same triplet.

    Names are compared folded; heads or tails with the same id are the same.

    Args:
        rows: clean rows of a source, with also_false as a boolean.
    """
    asserted = rows.filter("also_false")
    if asserted.is_empty():
        return
    stated = rows.filter(~pl.col("also_false"))
    pairs = pair_same_triplets(asserted, stated).group_by("row").agg(pl.col("other_row").min()).sort("row")
    if pairs.is_empty():
        return
    first = pairs.head(N_SHOWN)
    shown = asserted[first["row"]].select(PLACE.alias("place"), "relation", "head", "tail")
    true_places = stated[first["other_row"]].select(PLACE).to_series()
    found = [
        f"{place}: {relation}: {head} → {tail} is marked also_false, but {true_place} says that it is true: "
        "delete one of them"
        for (place, relation, head, tail), true_place in zip(shown.iter_rows(), true_places, strict=True)
    ]
    rest = [f"and {pairs.height - N_SHOWN} more"] if pairs.height > N_SHOWN else []
    raise InputError("\n  ".join([*found, *rest]))
