"""The distinct triplets of clean rows, in the order of a base; one relation at a time saves memory."""

import polars as pl

from knowledge.base import COLUMNS

_FACT = ("relation", "head", "tail")
_CELLS = ("head", "tail", "head_id", "tail_id")


def list_filled(rows: pl.DataFrame) -> list[str]:
    """Return the columns that have a value. The others need memory only once they are used."""
    n_missing = rows.null_count().row(0, named=True)
    return [name for name in rows.columns if n_missing[name] < rows.height]


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
    filled = list_filled(rows)
    cells = [name for name in _CELLS if name in filled]
    numbered = rows.lazy().with_row_index("position").select("relation", *cells, "position")
    kept, repeated = [pl.Series("position", [], pl.UInt32)], [pl.Series("position", [], pl.UInt32)]
    for relation in rows["relation"].unique().sort():
        chosen = numbered.filter(pl.col("relation") == relation).drop("relation")
        ordered = chosen.sort(cells, nulls_last=True, maintain_order=True).collect()
        is_first = ordered.select(_is_first(cells)).to_series()
        kept.append(ordered["position"].filter(is_first))
        repeated.append(ordered["position"].filter(~is_first))
    triplets = rows.select("relation", *cells, also_true=~pl.col("is_tested"))[pl.concat(kept)]
    missing = [pl.lit(None, pl.String).alias(name) for name in _CELLS if name not in cells]
    return triplets.with_columns(missing).select(list(COLUMNS)), rows[pl.concat(repeated).sort()]


def _is_first(cells: list[str]) -> pl.Expr:
    """Return an expression for whether a sorted row differs from the row before it."""
    is_other = (pl.col(name).ne_missing(pl.col(name).shift()) for name in cells)
    return pl.any_horizontal(*is_other) | (pl.int_range(pl.len()) == 0)
