"""The published file: which code wrote it, who has it open, and what somebody else put into or beside it."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import duckdb

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import link_or_copy
from pretexeval.storage.layout import (
    ALL_EVALUATIONS,
    EDITIONS_FOLDER,
    RESPONSES_FOLDER,
    REVIEWS_FOLDER,
    WAREHOUSE,
    edition_folder,
)
from schemas import meanings
from warehouse import catalogue
from warehouse.increments import read_loaded_parts
from warehouse.query import STORAGE_VERSION, connect, require_usable_name

logger = logging.getLogger(__name__)


# DuckDB uses the space of deleted rows again. If more than this share of the file is unused, everything is
# loaded into an empty file.
MAX_FREE_SHARE, MIN_FREE_BYTES = 1 / 3, 100_000_000
CODE_SUFFIXES = (".py", ".sql", ".toml")
OBJECTS = " union ".join(
    f"select schema_name || '.' || {name} from {function}() where database_name = current_database()"
    for name, function in (
        ("table_name", "duckdb_tables"),
        ("view_name", "duckdb_views"),
        ("function_name", "duckdb_functions"),
    )
)
"""The query for the names of all tables, views and macros."""


def sign(connection: duckdb.DuckDBPyConnection, changed_at_ns: int) -> None:
    """Note in the database which code wrote it and which objects, and the time of change of its file."""
    connection.execute("delete from storage.publication")
    connection.execute(
        f"insert into storage.publication select ?, ?, list(name) from ({OBJECTS}) as objects (name)",
        [describe_code(), changed_at_ns],
    )


@contextmanager
def open_published(path: Path) -> Iterator[duckdb.DuckDBPyConnection | None]:
    """Open the published file to read it; yield null if this code did not write it or somebody changed it.

    Whoever changes the file changes its time of change, which the file itself holds (`sign`), or leaves a log
    beside it.
    """
    try:
        changed_at_ns = path.stat().st_mtime_ns
        connection = connect(path)
    except (OSError, duckdb.Error):
        yield None
        return
    with connection:
        is_unchanged = _read_signature(connection) == (describe_code(), changed_at_ns)
        yield connection if is_unchanged and not _list_side_files(path) else None


def _read_signature(connection: duckdb.DuckDBPyConnection) -> tuple[str, int] | None:
    try:
        return connection.execute(
            "select schema_fingerprint, changed_at_ns from storage.publication"
        ).fetchone()
    except duckdb.Error:
        return None


@contextmanager
def keep_writers_out(path: Path) -> Iterator[duckdb.DuckDBPyConnection | None]:
    """Open the file read-only while it is replaced; yield null if there is none that DuckDB can open.

    Meanwhile nobody can open it for writing. A session that had it open for writing would go on to write its
    log beside the new file, and DuckDB would apply this log to the new file.

    Raises:
        InputError: a session has it open for writing.
    """
    try:
        connection = connect(path)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, duckdb.ConnectionException) or "Could not set lock on file" in reason:
            raise InputError(
                f"{path} is not replaced, because another session may write to it ({reason}); close the "
                "session or open the file read-only there, then run `pretexeval publish`"
            ) from error
        yield None
        return
    with connection:
        yield connection


def replace_published(aside: Path, path: Path, old: duckdb.DuckDBPyConnection | None) -> None:
    """Rename a file over the published one, whose side files go first: DuckDB reads them with any file there.

    If the old file has tables, views or macros that no publication created, it is kept under another name.

    Args:
        old: the published file as `keep_writers_out` opened it.
    """
    kept = None
    if old is not None and (names := _list_foreign_objects(old)):
        kept = path.with_name(f"changed-{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{path.name}")
        link_or_copy(path, kept)
        logger.warning(
            "%s holds what no publication made (%s), so the old file was kept as %s; create your own tables "
            "in another database, to which you attach the warehouse",
            path,
            ", ".join(names),
            kept,
        )
    for side in _list_side_files(path):
        if kept is None:
            side.unlink()
        else:
            side.replace(kept.with_name(kept.name + side.name.removeprefix(path.name)))
    os.replace(aside, path)


def require_usable_root(root: Path) -> None:
    """Check before a run that its publication can succeed.

    Raises:
        InputError: DuckDB cannot write a file there, or a folder is not as full as `check_folders` requires.
    """
    require_usable_name(root)
    try:
        with connect((root / WAREHOUSE).resolve()) as old:
            check_folders(old, root)
    except duckdb.Error:
        return


def check_folders(old: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Check the folders from which the published file was loaded, except those that can be made again.

    While the disk of a folder is not mounted, the folder is missing or empty. This must not count as if all
    of it had been removed, nor may its prompts be asked again.

    Raises:
        InputError: a folder is missing or empty that held an edition, answers, reviews, or evaluations of an
            edition that is still there.
    """
    try:
        loaded_parts = read_loaded_parts(old).values()
    except duckdb.Error:
        return
    for name in (EDITIONS_FOLDER, RESPONSES_FOLDER, *ALL_EVALUATIONS, REVIEWS_FOLDER):
        folder = root / name
        if folder.is_dir() and any(folder.iterdir()):
            continue
        keys = [json.loads(part.key) for part in loaded_parts if part.path.startswith(f"{name}/")]
        of_editions = [key["edition_id"] for key in keys if "edition_id" in key and name != EDITIONS_FOLDER]
        n_lost = len(keys) - sum(not (root / edition_folder(each)).is_dir() for each in of_editions)
        if n_lost:
            raise InputError(
                f"{folder} is missing or empty, but {root / WAREHOUSE} holds {n_lost} parts from it: mount "
                f"its disk or restore the folder; if you removed it, delete {WAREHOUSE} too, then run again"
            )


def _list_foreign_objects(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the tables, views and macros that no publication created, as schema.name, sorted."""
    own = "select unnest(objects) from storage.publication"
    try:
        rows = connection.execute(f"from ({OBJECTS} except {own}) as objects (name) order by name").fetchall()
    except duckdb.Error:
        return []
    return [name for (name,) in rows]


def _list_side_files(path: Path) -> list[Path]:
    """Return the logs of changes that DuckDB left beside the file, also of interrupted checkpoints."""
    return [each for each in path.parent.iterdir() if each.name.startswith(f"{path.name}.wal")]


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
    names = [catalogue.SUMS, catalogue.TABLE_MACROS, catalogue.ESTIMATED, catalogue.VIEWS]
    return hash_json([_hash_code(), duckdb.__version__, STORAGE_VERSION, *names], digits=32)


@cache
def _hash_code() -> str:
    """Return a hash of the code and the texts by which tables are made and filled."""
    folders = (Path(__file__).parent, Path(meanings.__file__).parent)
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in CODE_SUFFIXES]
    return hash_json([[path.name, path.read_text(encoding="utf-8")] for path in sorted(files)], digits=32)
