"""Asking the warehouse: any SQL, on a connection that cannot write to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from primitives.errors import InputError
from warehouse.catalogue import VIEWS
from warehouse.publish import WAREHOUSE


def run_query(root: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and the rows; InputError with DuckDB's message if it fails."""
    with _open_warehouse(root) as connection:
        try:
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or []]
            return columns, result.fetchall() if columns else []
        except duckdb.Error as error:
            raise InputError(f"the query failed: {error}") from error


def list_views(root: Path) -> list[tuple[str, str]]:
    """The views in the order in which they were created, each with its grain."""
    sql = "select view_name, comment from duckdb_views() where not internal"
    with _open_warehouse(root) as connection:
        grains = dict(connection.execute(sql).fetchall())
    return [(name, grains[name]) for name in VIEWS if name in grains]


@contextmanager
def _open_warehouse(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    path = root / WAREHOUSE
    if not path.is_file():
        raise InputError(
            f"{path}: there is no warehouse yet; `pretexeval run CONFIG` makes one, and "
            "`pretexeval publish CONFIG` makes it from data that is there"
        )
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: cannot be opened ({reason}); `pretexeval publish CONFIG` makes it anew"
        ) from error
    with connection:
        yield connection
