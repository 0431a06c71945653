"""Publish the warehouse: build the whole file aside, then rename it over the old file.

DuckDB locks readers out while a writer has the file open. With the rename, readers keep the old file and
nobody waits, and a crash leaves the old file intact. `write_atomically` of pretexeval/storage/files.py does
not fit: a killed build leaves a database and its log behind, which the next build must remove.
"""

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

import duckdb
from filelock import FileLock, Timeout

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import PUBLISH_LOCK, WAREHOUSE
from warehouse.answers import UnsoundRows
from warehouse.loading import describe_lost_replies, load_warehouse
from warehouse.published import (
    Publication,
    check_folders,
    keep_writers_out,
    read_publication,
    replace_published,
    sign,
)
from warehouse.query import connect, limit_memory
from warehouse.sources import Sources, collect_sources, find_unreadable, stamp_root

logger = logging.getLogger(__name__)

LOCK_TIMEOUT_S = 600.0
# DuckDB writes to disk what does not fit. Loading 12 models × 253,000 samples is as fast as with 1.7 GB.
MEMORY_LIMIT = "1000MB"
# Parts that a message names.
N_SHOWN = 10


class PartsLeftOut(InputError):
    """The warehouse was published without the parts that contradict their records."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Make an error whose message names every part, and what to do."""
        parts = "1 part was" if len(problems) == 1 else f"{len(problems)} parts were"
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
    except (duckdb.DataError, duckdb.ProgrammingError, duckdb.IntegrityError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{root / WAREHOUSE}: cannot be built ({reason}), though every file can be read; the previous "
            "warehouse, if any, is still there. Please report this message"
        ) from error
    except (OSError, duckdb.Error) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{root / WAREHOUSE}: cannot be written ({reason}); the previous warehouse, if any, is still "
            "there. Make room or make the folder writable, then run `pretexeval publish`"
        ) from error


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
        _remove_leftovers(aside.with_name(aside.name.rpartition(".next-")[0]))


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
    for leftover in path.parent.iterdir():
        if leftover.name.startswith(f"{path.name}.next-"):
            if leftover.is_dir():
                rmtree(leftover)
            else:
                leftover.unlink()


def _sync(path: Path) -> None:
    """Flush the file or folder from the system's cache to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
