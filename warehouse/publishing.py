"""Publish the warehouse: bring a copy of the old file up to date, then rename the copy over the old file.

DuckDB locks readers out while a writer has the file open. With the rename, readers keep the old file and
nobody waits, and a crash leaves the old file intact. `write_atomically` of pretexeval/storage/files.py does
not fit: a killed build leaves a database and its log behind, which the next build must remove.

The old file is used only if this version of the code wrote it and nobody changed it since. Otherwise
everything is loaded into an empty file, which gives the same tables.
"""

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile, rmtree

import duckdb
from filelock import FileLock, Timeout

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import PUBLISH_LOCK, WAREHOUSE
from pretexeval.storage.user_cache import copy_cached, find_cached, keep_cached
from warehouse.answer_loading import warn_of_lost_replies
from warehouse.catalogue import create_tables, create_views
from warehouse.increments import is_current, read_loaded_parts, report_left_out
from warehouse.loading import load_warehouse
from warehouse.parts import name_parts
from warehouse.published import (
    check_folders,
    describe_code,
    is_extensible,
    keep_writers_out,
    open_published,
    replace_published,
    sign,
)
from warehouse.query import connect, limit_memory

logger = logging.getLogger(__name__)


def copy_empty_warehouse(path: Path) -> bool:
    """Copy the database of this version of the code, which is made first if there is none.

    Return whether it was copied; it is not where the user's caches cannot be written.
    """
    if copy_cached(_name_copy(), path):
        return True
    keep_cached(_name_copy(), _create)
    return copy_cached(_name_copy(), path)


def forget_empty_warehouse() -> None:
    """Remove the database from the caches, because it is damaged."""
    find_cached(_name_copy()).unlink(missing_ok=True)


def _create(path: Path) -> None:
    try:
        with connect(path, is_writable=True) as made:
            create_tables(made)
            create_views(made)
            made.execute("checkpoint")
    except duckdb.Error as error:
        raise OSError(str(error)) from error


def _name_copy() -> str:
    return f"warehouse-{describe_code()[:16]}.duckdb"


LOCK_TIMEOUT_S = 600.0
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
    except (OSError, duckdb.Error) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{root / WAREHOUSE}: cannot be written ({reason}); the previous warehouse, if any, is still "
            "there. Make room or make the folder writable, then run `pretexeval publish`"
        ) from error


def is_warehouse_current(root: Path) -> bool:
    """Return whether the warehouse agrees with everything under the root, and nothing was left out of it."""
    return _find_problems(root / WAREHOUSE, root) == []


def _publish(root: Path) -> Path:
    """Replace the warehouse, unless it already agrees with the root; raise PartsLeftOut after that."""
    # The file may be on another disk, to which a symbolic link leads.
    path = (root / WAREHOUSE).resolve()
    _remove_leftovers(path)
    problems = _find_problems(path, root)
    if problems is None:
        problems = _replace(path, root)
    if problems:
        raise PartsLeftOut(problems)
    return root / WAREHOUSE


def _find_problems(path: Path, root: Path) -> list[str] | None:
    """Return what was left out of a warehouse that agrees with the root; null if it must be replaced."""
    try:
        with open_published(path) as connection:
            if connection is None or not is_current(
                loaded_parts := read_loaded_parts(connection), name_parts(root)
            ):
                return None
            warn_of_lost_replies(connection, root)
    except duckdb.Error:
        return None
    return report_left_out(loaded_parts.values())


def _replace(path: Path, root: Path) -> list[str]:
    """Build a temporary file and rename it; remove the file if the build fails. Return what was left out."""
    aside = path.with_name(f"{path.name}.next-{os.getpid()}")
    with keep_writers_out(path) as old:
        if old is not None:
            check_folders(old, root)
        try:
            problems = _build(aside, path, root)
            replace_published(aside, path, old)
        except BaseException:
            _remove_leftovers(path)
            raise
    _sync(path.parent)
    return problems


def _build(aside: Path, path: Path, root: Path) -> list[str]:
    """Write the database from the published one, or from nothing; return what was left out."""
    if is_extensible(path):
        try:
            copyfile(path, aside)
            return _load(aside, root)
        except duckdb.Error as error:
            logger.warning("%s: cannot be extended (%s), so it is built from nothing", path, error)
            _remove_leftovers(path)
    if copy_empty_warehouse(aside):
        try:
            return _load(aside, root)
        except duckdb.Error as error:
            logger.warning("the copy of an empty warehouse cannot be used (%s); a new one is made", error)
            forget_empty_warehouse()
            _remove_leftovers(path)
    return _load(aside, root)


def _load(aside: Path, root: Path) -> list[str]:
    """Bring a database up to date, merge its log into it, and flush it to disk; return what was left out."""
    # Steps of a microsecond, because not every file system keeps nanoseconds.
    changed_at_ns = time.time_ns() // 1000 * 1000
    with connect(aside, is_writable=True) as connection:
        limit_memory(connection)
        problems = load_warehouse(connection, root)
        sign(connection, changed_at_ns)
        connection.execute("checkpoint")
    os.utime(aside, ns=(changed_at_ns, changed_at_ns))
    _sync(aside)
    return problems


def _remove_leftovers(path: Path) -> None:
    """Remove the files of killed builds. No build is using them, because the caller holds the lock."""
    for each in path.parent.iterdir():
        if each.name.startswith(f"{path.name}.next-"):
            if each.is_dir():
                rmtree(each)
            else:
                each.unlink()


def _sync(path: Path) -> None:
    """Flush the file or folder from the system's cache to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
