"""The distinct triplets of clean rows, in the order of a base; one relation at a time saves memory."""

import polars as pl

from knowledge.base import COLUMNS

_FACT = ("relation", "head", "tail")
_CELLS = ("head", "tail", "head_id", "tail_id")


def mark_tested(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `is_tested`: whether a row without ``also_true`` states the triplet.

    Rows without ``also_true`` come first, so that of two equal rows the tested one is kept.
    """
    unmarked, marked = rows.filter(~pl.col("also_true")), rows.filter("also_true")
    stated = marked.lazy().select(_FACT).unique().join(unmarked.lazy(), on=_FACT, how="semi")
    is_tested = stated.with_columns(is_tested=True).collect()
    return pl.concat(
        [
            unmarked.with_columns(is_tested=True),
            marked.join(is_tested, on=_FACT, how="left", maintain_order="left").with_columns(
                pl.col("is_tested").fill_null(value=False)
            ),
        ]
    )


def sort_triplets(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the distinct triplets, sorted by relation, names and ids, and the rows that repeat one.

    Args:
        rows: what `mark_tested` returns. The first of equal rows is kept; the others keep their order.
    """
    numbered = (
        rows.lazy().with_row_index("position").select(*_FACT, "head_id", "tail_id", "is_tested", "position")
    )
    triplets, positions = [_select_columns(numbered.collect().clear())], []
    for relation in rows["relation"].unique().sort():
        chosen = numbered.filter(pl.col("relation") == relation)
        ordered = chosen.sort(_CELLS, nulls_last=True, maintain_order=True).collect()
        is_first = ordered.select(_is_first()).to_series()
        triplets.append(_select_columns(ordered.filter(is_first)))
        positions.append(ordered.filter(~is_first)["position"])
    repeated = pl.concat([pl.Series("position", [], pl.UInt32), *positions])
    return pl.concat(triplets), rows[repeated.sort()]


def _is_first() -> pl.Expr:
    """Return an expression for whether a sorted row differs from the row before it."""
    is_other = (pl.col(name).ne_missing(pl.col(name).shift()) for name in _CELLS)
    return pl.any_horizontal(*is_other) | (pl.int_range(pl.len()) == 0)


def _select_columns(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col("is_tested").not_().alias("also_true")).select(list(COLUMNS))
