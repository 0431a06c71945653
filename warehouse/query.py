"""Query the warehouse with any SQL, on a connection that cannot write to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from primitives.errors import InputError
from storage.layout import WAREHOUSE
from warehouse.catalogue import VIEWS


@contextmanager
def open_warehouse(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse under `root` read-only, and close it at the end of the block.

    Raises:
        InputError: if there is no warehouse, or if DuckDB cannot open or read it.
    """
    path = root / WAREHOUSE
    if not path.is_file():
        raise InputError(
            f"{path}: there is no warehouse yet; `pretexeval run CONFIG` creates one, and "
            "`pretexeval publish CONFIG` creates one from the data that is already there"
        )
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            yield connection
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: cannot be read ({reason}); run `pretexeval publish CONFIG` to build it again"
        ) from error


def run_query(root: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the columns and the rows; raise InputError with DuckDB's message on failure."""
    with open_warehouse(root) as connection:
        try:
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or []]
            return columns, result.fetchall() if columns else []
        except duckdb.Error as error:
            raise InputError(f"the query failed: {error}") from error


def read_rows(root: Path, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries; raise InputError with DuckDB's message on failure."""
    columns, rows = run_query(root, sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def list_views(root: Path) -> list[tuple[str, str]]:
    """Return the views in the order of creation, each with its grain."""
    sql = "select view_name, comment from duckdb_views() where not internal"
    with open_warehouse(root) as connection:
        grains = dict(connection.execute(sql).fetchall())
    return [(name, grains[name]) for name in VIEWS if name in grains]
