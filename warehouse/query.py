"""Query the warehouse with any SQL, on a connection that reaches no file but the warehouse, read-only."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import duckdb

from primitives.errors import InputError
from storage.layout import WAREHOUSE
from warehouse.catalogue import VIEWS

Result = tuple[list[str], list[tuple[Any, ...]]]
"""The names of the columns, and the rows."""
FETCHED_ROWS = 10_000
# The warehouse is open when these are set, and the last one refuses every later change of a setting.
# enable_external_access alone still lets `copy … to` (with use_tmp_file false) overwrite the database's own
# file: DuckDB adds the paths of an open database to those that it allows.
LOCK_DOWN = (
    "set autoload_known_extensions = false",
    "set autoinstall_known_extensions = false",
    "set allow_community_extensions = false",
    "set python_enable_replacements = false",
    # Without a file system nothing can be spilled: a query that needs too much memory fails with a message.
    "set temp_directory = ''",
    "set enable_external_access = false",
    "set disabled_filesystems = 'LocalFileSystem'",
    "set lock_configuration = true",
)


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


def run_query(root: Path, sql: str) -> Result:
    """Return the names of the columns and the rows of a query, which cannot read or write any other file.

    Raises:
        InputError: the query failed, with DuckDB's message; or it needs another file or another setting.
    """
    with open_warehouse(root) as connection:
        _lock_down(connection)
        try:
            sql.encode()
            return _wait_for_rows(connection, sql)
        except duckdb.PermissionException as error:
            raise InputError(
                f"the query failed: {error}. Queries read the warehouse and nothing else: redirect the "
                "output of `--format csv` to write a file, or open the warehouse with DuckDB itself"
            ) from error
        except (duckdb.Error, UnicodeError) as error:
            raise InputError(f"the query failed: {error}") from error


def _lock_down(connection: duckdb.DuckDBPyConnection) -> None:
    """Take the file system away from the connection; do nothing if another connection has already done so."""
    (is_locked,) = connection.execute("select current_setting('lock_configuration')").fetchone() or (False,)
    for statement in () if is_locked else LOCK_DOWN:
        connection.execute(statement)


def _wait_for_rows(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run the query in another thread, because DuckDB handles no signals: Ctrl-C ends the query at once."""
    is_interrupted = Event()

    def fetch() -> Result:
        result: duckdb.DuckDBPyConnection | None = connection.execute(sql)
        if result is None:
            raise InputError("the query is empty: write a statement, such as `from leaderboard`")
        columns = [column[0] for column in result.description or []]
        rows: list[tuple[Any, ...]] = []
        while columns and not is_interrupted.is_set() and (part := result.fetchmany(FETCHED_ROWS)):
            rows += part
        return columns, rows

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(fetch)
        try:
            return running.result()
        except KeyboardInterrupt:
            is_interrupted.set()
            connection.interrupt()
            raise


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
