"""Publish the warehouse: build it in a temporary file, then rename that file over the old one.

DuckDB locks readers out while a writer has the file open. With the rename, readers keep the old file and
nobody waits, and a crash leaves the old file intact. `write_atomically` of storage/files.py does not fit: a
killed build leaves a database and its log behind, which the next build must remove.
"""

import os
import shutil
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from primitives.errors import InputError
from storage.layout import PUBLISH_LOCK, WAREHOUSE
from warehouse.loading import load_warehouse

LOCK_TIMEOUT_S = 600.0


def build_warehouse(root: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Path:
    """Rebuild the warehouse from everything that is complete under `root`; return its path.

    Raises:
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


def _publish(root: Path) -> Path:
    """Build a temporary file and rename it; remove the file if the build fails."""
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
    """Write the database, merge its log into it, and flush it to disk."""
    with duckdb.connect(str(aside)) as connection:
        load_warehouse(connection, root)
        connection.execute("checkpoint")
    _sync(aside)


def _remove_leftovers(root: Path) -> None:
    """Remove the files of killed builds. No build is using them, because the caller holds the lock."""
    for path in root.glob(f"{WAREHOUSE}.next-*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _sync(path: Path) -> None:
    """Flush the file or folder from the system's cache to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
