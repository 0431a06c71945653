"""Read files under exactly the paths that are given.

polars and DuckDB take `*`, `?` and `[…]` in a path for a pattern, `~` for the home folder, and DuckDB takes a
folder `name=value` for a column. Everywhere else in the program, Ruff refuses the functions with which polars
reads Parquet files.
"""

import glob
from collections.abc import Sequence
from pathlib import Path

import polars as pl


def read_parquet(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Return the rows of a Parquet file, by default with all columns."""
    return pl.read_parquet(path.absolute(), columns=columns, glob=False)  # noqa: TID251


def list_parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    return scan_parquet(path).collect_schema().names()


def scan_parquet_files(paths: Sequence[Path], schema: pl.Schema) -> pl.LazyFrame:
    """Return the rows of files, one after the other, as a query; columns that a file lacks are null."""
    files = [path.absolute() for path in paths]
    return pl.scan_parquet(files, glob=False, schema=schema, missing_columns="insert")  # noqa: TID251


def scan_parquet(path: Path) -> pl.LazyFrame:
    """Return the rows of a Parquet file as a query that has yet to run."""
    return pl.scan_parquet(path.absolute(), glob=False)  # noqa: TID251


def escape_pattern(path: Path) -> str:
    r"""Return the pattern with which DuckDB finds only this file.

    DuckDB takes a backslash for the end of a folder's name, but only where the path has other marks.
    """
    return glob.escape(str(path.absolute()))
