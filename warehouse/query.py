"""Query the warehouse with any SQL, on a connection that reaches no file but the warehouse, read-only."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE
from warehouse.catalogue import RELATIONS, VIEW_GROUPS

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Fetch = Callable[[duckdb.DuckDBPyConnection, str, Event], T]
Result = tuple[list[str], list[tuple[Any, ...]]]
"""The names of the columns, and the rows."""
# DuckDB 1.4 opens the warehouse. From version 1.4.2 on it finds the subqueries of our table macros, so that
# every view works; `make test-interop` reads all of them.
STORAGE_VERSION = "v1.4.0"
EMPTY = "the query is empty: write a statement, such as `from leaderboard`"
FETCHED_ROWS = 10_000
MEMORY_LIMIT = "50%"
"""A share of the memory of the machine. DuckDB's default is 80 %, and it writes to disk what does not fit."""
GROUPED = ", ".join(f"('{group}', '{name}')" for group, names in VIEW_GROUPS.items() for name in names)
LISTING = f"""
with relations (kind, name, grain) as ({RELATIONS}),
places as (select *, row_number() over () as place from (values {GROUPED}) as named ("group", name))
select coalesce("group", 'Tables') as "group", name, grain
from relations
left join places using (name)
order by place nulls last, name
"""
"""The query for every view, by group and in the order of creation, and then every table, by name."""
COLUMNS = """
select column_name as "column", data_type as type, comment as meaning
from duckdb_columns()
where not internal and schema_name = 'main' and table_name = '{}'
order by column_index
"""
"""The query for the columns of the view or table of this name, and what they mean."""
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
    path = find_warehouse(root)
    try:
        with connect(path) as connection:
            limit_memory(connection)
            yield connection
    except duckdb.Error as error:
        raise explain_unreadable(path, error) from error


def connect(path: Path, *, is_writable: bool = False) -> duckdb.DuckDBPyConnection:
    """Open a database file. DuckDB would replace `~` or `md:` at the start of a path that is not absolute.

    Raises:
        InputError: `require_usable_name` refuses the path of a file that is to be written.
    """
    if is_writable:
        require_usable_name(path)
        return duckdb.connect(str(path.absolute()), config={"storage_compatibility_version": STORAGE_VERSION})
    return duckdb.connect(str(path.absolute()), read_only=True)


def require_usable_name(path: Path) -> None:
    """Raise InputError if DuckDB cannot write the file because of a character in its absolute path."""
    if unusable := [character for character in "?\\" if character in str(path.absolute())]:
        raise InputError(
            f"{path.absolute()}: DuckDB cannot write a file below a folder with {unusable[0]} in its name; "
            "rename the folder, or choose another [storage] root"
        )


def limit_memory(connection: duckdb.DuckDBPyConnection, limit: str = MEMORY_LIMIT) -> None:
    """Limit the memory of the database, unless another connection of this process locked its settings."""
    (is_locked,) = connection.execute("select current_setting('lock_configuration')").fetchall()[0]
    if not is_locked:
        connection.execute(f"set memory_limit = '{limit}'")


def find_warehouse(root: Path) -> Path:
    """Return the path of the warehouse; raise InputError if there is none."""
    path = root / WAREHOUSE
    if not path.is_file():
        raise InputError(
            f"{path}: there is no warehouse yet; `pretexeval run CONFIG` creates one, and "
            "`pretexeval publish CONFIG` creates one from the data that is already there"
        )
    return path


def explain_unreadable(path: Path, error: duckdb.Error) -> InputError:
    """Return the error for a warehouse that DuckDB cannot open or read."""
    reason = str(error).splitlines()[0]
    return InputError(f"{path}: cannot be read ({reason}); run `pretexeval publish CONFIG` to build it again")


def run_query(root: Path, sql: str) -> Result:
    """Return the names of the columns and the rows of a query, which cannot read or write any other file.

    Raises:
        InputError: the query failed, with DuckDB's message; or it needs another file or another setting.
    """
    return _run_locked(root, sql, _fetch_rows)


def read_table(root: Path, sql: str) -> "pa.Table":
    """Return the result of a query as a table of Arrow, on a connection as that of `run_query`.

    Raises:
        InputError: as `run_query` does.
    """
    return _run_locked(root, sql, _fetch_table)


def _run_locked(root: Path, sql: str, fetch: Fetch[T]) -> T:
    with open_warehouse(root) as connection:
        lock_down(connection)
        try:
            sql.encode()
            return _wait_for_result(connection, sql, fetch)
        except duckdb.PermissionException as error:
            raise InputError(
                f"the query failed: {error}. Queries read the warehouse and nothing else: write a file with "
                "`--output FILE`, or open the warehouse with DuckDB itself"
            ) from error
        except (duckdb.Error, UnicodeError) as error:
            raise InputError(f"the query failed: {error}") from error


def lock_down(connection: duckdb.DuckDBPyConnection) -> None:
    """Take the file system away from the connection; do nothing if another connection has already done so."""
    (is_locked,) = connection.execute("select current_setting('lock_configuration')").fetchone() or (False,)
    for statement in () if is_locked else LOCK_DOWN:
        connection.execute(statement)


def _fetch_rows(connection: duckdb.DuckDBPyConnection, sql: str, is_interrupted: Event) -> Result:
    result: duckdb.DuckDBPyConnection | None = connection.execute(sql)
    if result is None:
        raise InputError(EMPTY)
    columns = [column[0] for column in result.description or []]
    rows: list[tuple[Any, ...]] = []
    while columns and not is_interrupted.is_set() and (part := result.fetchmany(FETCHED_ROWS)):
        rows += part
    return columns, rows


def _fetch_table(connection: duckdb.DuckDBPyConnection, sql: str, _: Event) -> "pa.Table":
    relation: duckdb.DuckDBPyRelation | None = connection.sql(sql)
    if relation is None:
        raise InputError(EMPTY)
    return relation.to_arrow_table()


def _wait_for_result(connection: duckdb.DuckDBPyConnection, sql: str, fetch: Fetch[T]) -> T:
    """Run the query in another thread, and end it if this thread is interrupted, as by Ctrl-C or SIGTERM."""
    is_interrupted = Event()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(fetch, connection, sql, is_interrupted)
        try:
            return running.result()
        except BaseException:
            is_interrupted.set()
            connection.interrupt()
            raise


def read_rows(root: Path, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries; raise InputError with DuckDB's message on failure."""
    columns, rows = run_query(root, sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]
