"""Publishing: build the next warehouse aside, then rename it over the old one.

DuckDB locks readers out while a writer has the file open. Built aside and renamed, readers keep
what they had, nobody waits, and a crash leaves the old file whole.
"""

import os
import shutil
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from primitives.errors import InputError
from storage.layout import PUBLISH_LOCK, WAREHOUSE
from warehouse.load import load_warehouse

LOCK_TIMEOUT_S = 600.0


def build_warehouse(root: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Path:
    """The path of the warehouse, built anew from everything complete under `root`.

    InputError if there is no such folder, if another publisher holds the lock for longer than
    `lock_timeout_s`, if a file cannot be read, or if the warehouse cannot be written.
    """
    if not root.is_dir():
        raise InputError(f"{root}: there is no such folder; `pretexeval run CONFIG` makes it")
    try:
        with FileLock(root / PUBLISH_LOCK, timeout=lock_timeout_s):
            return _publish(root)
    except Timeout as error:
        raise InputError(
            f"{root / PUBLISH_LOCK}: another publisher has held the lock for {lock_timeout_s:g} s; "
            "wait until it is done, then publish again"
        ) from error
    except (OSError, duckdb.Error) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{root / WAREHOUSE}: cannot be written ({reason}); the one before it, if any, is "
            "still there. Make room, or the folder writable, and run `pretexeval publish`"
        ) from error


def _publish(root: Path) -> Path:
    """Build aside and rename; nothing is left of a build that failed."""
    _remove_leftovers(root)
    aside = root / f"{WAREHOUSE}.next-{os.getpid()}"
    try:
        _build(aside, root)
        os.replace(aside, root / WAREHOUSE)
    except BaseException:
        _remove_leftovers(root)
        raise
    _sync(root)
    return root / WAREHOUSE


def _build(aside: Path, root: Path) -> None:
    """Write the database and see it on disk, its log folded in."""
    with duckdb.connect(str(aside)) as connection:
        load_warehouse(connection, root)
        connection.execute("checkpoint")
    _sync(aside)


def _remove_leftovers(root: Path) -> None:
    """Remove what builds left aside: the lock is held, so none of it is anybody's any more."""
    for path in root.glob(f"{WAREHOUSE}.next-*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _sync(path: Path) -> None:
    """Have the file or folder on disk, not only in the system's cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
