"""Reader of tables that give other names for names: CSV, TSV or Parquet."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from knowledge.delimited import read_delimited
from knowledge.rows import describe_problems, read_bytes, require_columns
from knowledge.spelling import fold_name
from primitives.errors import InputError

Columns = Sequence[str]


def read_name_table(path: Path, required: Columns, optional: Columns = ()) -> pl.DataFrame:
    """Return the named columns of a table as text, with row (number), place (for messages) and problem.

    Raises:
        InputError: the file cannot be read, has no rows or lacks a column, or a row is broken or lacks a
            required name; the message names it.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path} has the extension {path.suffix!r}; a table of names has one of {', '.join(READERS)}"
        )
    rows = reader(path, required, optional)
    if rows.is_empty():
        raise InputError(f"{path} holds no rows: fill it or name another file")
    wrong: list[str] = []
    for row in rows.iter_rows(named=True):
        empty = [name for name in required if not fold_name(row[name] or "")]
        problems = [row["problem"], *(f"the {name} is empty: write it or delete the row" for name in empty)]
        wrong += [f"{path}, {row['place']}: {problem}" for problem in problems if problem][:1]
    if wrong:
        raise InputError(describe_problems(wrong))
    return rows


def _read_csv(path: Path, required: Columns, optional: Columns) -> pl.DataFrame:
    return _name_lines(read_delimited(path, ",", required, optional))


def _read_tsv(path: Path, required: Columns, optional: Columns) -> pl.DataFrame:
    return _name_lines(read_delimited(path, "\t", required, optional))


def _name_lines(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.format("line {}", "row").alias("place"))


def _read_parquet(path: Path, required: Columns, optional: Columns) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(read_bytes(path))
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} is no Parquet file: {error}") from error
    require_columns(path, frame.columns, required)
    names = [name for name in (*required, *optional) if name in frame.columns]
    numbered = frame.select(pl.col(names).cast(pl.String)).with_row_index("row")
    return numbered.with_columns(
        pl.format("row index {}", "row").alias("place"), pl.lit(None, pl.String).alias("problem")
    )


READERS: dict[str, Callable[[Path, Columns, Columns], pl.DataFrame]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
}
