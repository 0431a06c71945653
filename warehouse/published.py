"""Recognise a published file that this version of the code wrote and that nobody has changed since."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from primitives.hashing import hash_json
from schemas import meanings
from warehouse import catalogue

# DuckDB 1.4 opens the warehouse. From version 1.4.2 on it finds the subqueries of our table macros, so that
# every view works; `make test-interop` reads all of them.
STORAGE_VERSION = "v1.4.0"
# DuckDB uses the space of deleted rows again. If more than this share of the file is unused, everything is
# loaded into an empty file.
MAX_FREE_SHARE, MIN_FREE_BYTES = 1 / 3, 100_000_000
CODE_SUFFIXES = (".py", ".sql", ".toml")


def sign(connection: duckdb.DuckDBPyConnection, changed_at_ns: int) -> None:
    """Note in the database which code wrote it, and the time of change that its file will have."""
    connection.execute("delete from storage.publication")
    connection.execute("insert into storage.publication values (?, ?)", [describe_code(), changed_at_ns])


@contextmanager
def open_published(path: Path) -> Iterator[duckdb.DuckDBPyConnection | None]:
    """Open the published file to read it; yield null if this code did not write it or somebody changed it.

    Whoever changes the file changes its time of change, which the file itself holds (`sign`).
    """
    try:
        changed_at_ns = path.stat().st_mtime_ns
        connection = duckdb.connect(str(path), read_only=True)
    except (OSError, duckdb.Error):
        yield None
        return
    with connection:
        yield connection if _read_signature(connection) == (describe_code(), changed_at_ns) else None


def _read_signature(connection: duckdb.DuckDBPyConnection) -> tuple[str, int] | None:
    try:
        return connection.execute("from storage.publication").fetchone()
    except duckdb.Error:
        return None


def is_extensible(path: Path) -> bool:
    """Return whether a copy of the published file can be brought up to date, and has little unused space."""
    with open_published(path) as connection:
        if connection is None:
            return False
        sizes = "select free_blocks * block_size, total_blocks * block_size from pragma_database_size()"
        n_free, n_bytes = connection.execute(sizes).fetchone() or (0, 0)
        return bool(n_free < max(MIN_FREE_BYTES, MAX_FREE_SHARE * n_bytes))


def describe_code() -> str:
    """Return a fingerprint of everything that decides which tables the same files give."""
    names = [catalogue.SUMS, catalogue.TABLE_MACROS, catalogue.ESTIMATES, catalogue.VIEWS]
    return hash_json([_hash_code(), STORAGE_VERSION, *names], digits=32)


@cache
def _hash_code() -> str:
    """Return a hash of the code and the texts by which tables are made and filled."""
    folders = (Path(__file__).parent, Path(meanings.__file__).parent)
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in CODE_SUFFIXES]
    return hash_json([[path.name, path.read_text(encoding="utf-8")] for path in sorted(files)], digits=32)
