"""Publish the warehouse: build the whole file aside, then rename it over the old file.

DuckDB locks readers out while a writer has the file open. With the rename, readers keep the old file and
nobody waits, and a crash leaves the old file intact. `write_atomically` of pretexeval/storage/files.py does
not fit: a killed build leaves a database and its log behind, which the next build must remove. The file says
which code wrote it, so that a change of somebody else is noticed.
"""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from shutil import rmtree

import duckdb
from filelock import FileLock, Timeout

from pretexeval.config.questions import UNSURE
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.hashing import hash_files, hash_json
from pretexeval.storage.files import link_or_copy
from pretexeval.storage.layout import (
    ANCHOR_EVALUATIONS_FOLDER,
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    PUBLISH_LOCK,
    QUESTION_EVALUATIONS_FOLDER,
    RESPONSES_FOLDER,
    REVIEWS_FOLDER,
    UNSURE_EVALUATIONS_FOLDER,
    WAREHOUSE,
    edition_folder,
)
from schemas import meanings
from warehouse.answers import UnsoundRows
from warehouse.loading import describe_lost_replies, load_warehouse
from warehouse.query import connect, limit_memory, require_usable_name
from warehouse.scoring import hash_code
from warehouse.sources import Sources, collect_sources, find_unreadable, stamp_root

logger = logging.getLogger(__name__)

LOCK_TIMEOUT_S = 600.0
# DuckDB writes to disk what does not fit. Loading 12 models × 253,000 samples is as fast as with 1.7 GB.
MEMORY_LIMIT = "1000MB"
# Parts that a message names.
N_SHOWN = 10
STORAGE_ERRORS = (OSError, duckdb.IOException, duckdb.OutOfMemoryException)
# The problem and the remedy of a warehouse that the system does not let us write, and of any other failure.
REFUSED = ("cannot be written ({})", "Make room or make the folder writable, then run `pretexeval publish`")
UNEXPECTED = ("cannot be built ({}), though every file can be read", "Please report this message")
OBJECTS = " union ".join(
    f"select schema_name || '.' || {name} from {function}() where database_name = current_database()"
    for name, function in (
        ("table_name", "duckdb_tables"),
        ("view_name", "duckdb_views"),
        ("function_name", "duckdb_functions"),
    )
)
"""The query for the names of all tables, views and macros."""
PARTS = {
    EDITIONS_FOLDER: "select null from editions",
    RESPONSES_FOLDER: "select null from models",
    EVALUATIONS_FOLDER: "select edition_id from runs where setting is null and period is null",
    QUESTION_EVALUATIONS_FOLDER: f"select edition_id from runs where setting <> '{UNSURE}'",
    UNSURE_EVALUATIONS_FOLDER: f"select edition_id from runs where setting = '{UNSURE}'",
    ANCHOR_EVALUATIONS_FOLDER: "select edition_id from runs where period is not null",
    REVIEWS_FOLDER: "select distinct on (edition_id, reviewer) edition_id from human_verdicts",
}
"""Folder -> the query for one row per part that was loaded from it.

A part of an edition may be removed together with it. Its row is the edition, and null for other parts.
"""


@dataclass(frozen=True)
class Publication:
    """The files that a warehouse was published from, and the messages about them."""

    root_fingerprint: str
    """Fingerprint of all files under the root (`stamp_root`)."""
    problems: Sequence[str]
    """Reasons why parts were left out that contradict their records."""
    warnings: Sequence[str]
    """Parts without a record, as after an interrupted run, and replies that are lost."""


def sign(connection: duckdb.DuckDBPyConnection, publication: Publication, changed_at_ns: int) -> None:
    """Note in the database how it was published, by which code, and the time of change of its file."""
    query = f"select ?, ?, ?, ?, ?, list(name) from ({OBJECTS}) as objects (name)"
    values = [*astuple(publication), describe_code(), changed_at_ns]
    connection.execute(f"insert into storage.publication {query}", values)


def read_publication(path: Path) -> Publication | None:
    """Return how the file was published; None if this code did not write it or somebody changed it since.

    Whoever changes the file changes its time of change, which the file itself holds, or leaves a log beside
    it.
    """
    try:
        changed_at_ns = path.stat().st_mtime_ns
        with connect(path) as connection:
            row = connection.execute(
                "select root_fingerprint, problems, warnings from storage.publication "
                "where code_fingerprint = ? and changed_at_ns = ?",
                [describe_code(), changed_at_ns],
            ).fetchone()
    except (OSError, duckdb.Error):
        return None
    return Publication(*row) if row and not _list_side_files(path) else None


@contextmanager
def keep_writers_out(path: Path) -> Iterator[duckdb.DuckDBPyConnection | None]:
    """Open the file read-only while it is replaced; yield None if there is none that DuckDB can open.

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
    """Rename a file over the published one.

    The side files of the old file go first, because DuckDB would apply them to the new file.
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

    While the disk of a folder is not mounted, the folder is missing or empty. Then its content must not count
    as removed, and its prompts must not be asked again.

    Raises:
        InputError: a folder is missing or empty that held an edition, answers, reviews, or evaluations of an
            edition that is still there.
    """
    for name, query in PARTS.items():
        folder = root / name
        if folder.is_dir() and any(folder.iterdir()):
            continue
        try:
            editions = [edition_id for (edition_id,) in old.execute(query).fetchall()]
        except duckdb.Error:
            return
        n_lost = sum(
            edition_id is None or (root / edition_folder(edition_id)).is_dir() for edition_id in editions
        )
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
    return [file for file in path.parent.iterdir() if file.name.startswith(f"{path.name}.wal")]


def describe_code() -> str:
    """Return a fingerprint of everything that decides which tables the same files give."""
    return hash_json([_hash_code(), hash_code(), duckdb.__version__], digits=32)


@cache
def _hash_code() -> str:
    """Return a hash of the code and the texts by which tables are made and filled."""
    folders = (Path(__file__).parent, Path(meanings.__file__).parent)
    files = (path for folder in folders for path in folder.rglob("*"))
    return hash_files((path for path in files if path.suffix in (".py", ".sql", ".toml")), digits=32)


class PartsLeftOut(InputError):
    """The warehouse was published without the parts that contradict their records."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Make an error whose message names every part, and what to do."""
        parts = f"{count_noun(len(problems), 'part')} {'was' if len(problems) == 1 else 'were'}"
        rest = [f"and {len(problems) - N_SHOWN} more"] if len(problems) > N_SHOWN else []
        head = f"everything else was published, but {parts} left out:"
        super().__init__("\n  ".join([head, *problems[:N_SHOWN], *rest]))


def build_warehouse(root: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Path:
    """Bring the warehouse up to date with everything that is complete under `root`; return its path.

    Raises:
        PartsLeftOut: after publishing the rest, if files contradict the records that list them.
        InputError: if the folder does not exist, if another publisher holds the lock for longer than
            `lock_timeout_s`, if a file cannot be read, or if the warehouse cannot be written.
    """
    if not root.is_dir():
        raise InputError(f"{root}: there is no such folder; `pretexeval run CONFIG` creates it")
    try:
        with FileLock(root / PUBLISH_LOCK, timeout=lock_timeout_s):
            return _publish(root)
    except Timeout as error:
        raise InputError(
            f"{root / PUBLISH_LOCK}: another publisher has held the lock for {lock_timeout_s:g} s; "
            "wait until it has finished, then publish again"
        ) from error
    except (OSError, duckdb.Error) as error:
        reason = str(error).splitlines()[0]
        # On a full disk, a commit raises a TransactionException, and a checkpoint a FatalException.
        is_refused = isinstance(error, STORAGE_ERRORS) or "Could not write file" in reason
        problem, remedy = REFUSED if is_refused else UNEXPECTED
        kept = "the previous warehouse, if any, is still there"
        raise InputError(f"{root / WAREHOUSE}: {problem.format(reason)}; {kept}. {remedy}") from error


def is_warehouse_current(root: Path) -> bool:
    """Return whether the warehouse agrees with everything under the root, and nothing was left out of it."""
    publication = read_publication(root / WAREHOUSE)
    if publication is None or publication.problems:
        return False
    return publication.root_fingerprint == stamp_root(root)


def _publish(root: Path) -> Path:
    """Replace the warehouse, unless it already agrees with the root; raise PartsLeftOut after that."""
    # The file may be on another disk, to which a symbolic link leads.
    path = (root / WAREHOUSE).resolve()
    _remove_leftovers(path)
    # What changes while the file is built is noticed by the next publication.
    fingerprint = stamp_root(root)
    publication = read_publication(path)
    if publication is None or publication.root_fingerprint != fingerprint:
        publication = _replace(path, root, fingerprint)
    for text in publication.warnings:
        logger.warning("%s", text)
    if publication.problems:
        raise PartsLeftOut(publication.problems)
    return root / WAREHOUSE


def _replace(path: Path, root: Path, fingerprint: str) -> Publication:
    """Build a temporary file and rename it; remove the file if the build fails."""
    aside = path.with_name(f"{path.name}.next-{os.getpid()}")
    with keep_writers_out(path) as old:
        if old is not None:
            check_folders(old, root)
        try:
            publication = _build(aside, root, fingerprint)
            replace_published(aside, path, old)
        except BaseException:
            _remove_leftovers(path)
            raise
    _sync(path.parent)
    return publication


def _build(aside: Path, root: Path, fingerprint: str) -> Publication:
    """Write the database, and again without the parts of files whose rows turn out to be unsound."""
    unsound: dict[Path, str] = {}
    while True:
        sources = collect_sources(root.absolute(), unsound)
        try:
            return _write(aside, sources, fingerprint)
        except UnsoundRows as error:
            unsound[error.path] = error.problem
        except duckdb.Error:
            unreadable = find_unreadable(sources)
            if not unreadable:
                raise
            unsound |= unreadable
        _remove_files(aside)


def _write(aside: Path, sources: Sources, fingerprint: str) -> Publication:
    """Fill a database, merge its log into it, and flush it to disk."""
    # Steps of a microsecond, because not every file system keeps nanoseconds.
    changed_at_ns = time.time_ns() // 1000 * 1000
    with connect(aside, is_writable=True) as connection:
        limit_memory(connection, MEMORY_LIMIT)
        load_warehouse(connection, sources)
        warnings = [*dict.fromkeys(sources.incomplete), *describe_lost_replies(connection, sources.root)]
        publication = Publication(fingerprint, sources.problems, warnings)
        sign(connection, publication, changed_at_ns)
        connection.execute("checkpoint")
    os.utime(aside, ns=(changed_at_ns, changed_at_ns))
    _sync(aside)
    return publication


def _remove_leftovers(path: Path) -> None:
    """Remove the files of killed builds. No build is using them, because the caller holds the lock."""
    _remove_files(path.with_name(f"{path.name}.next-"))


def _remove_files(start: Path) -> None:
    """Remove the files and folders whose paths begin like this."""
    for file in start.parent.iterdir():
        if file.name.startswith(start.name):
            if file.is_dir():
                rmtree(file)
            else:
                file.unlink()


def _sync(path: Path) -> None:
    """Flush the file or folder from the system's cache to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
