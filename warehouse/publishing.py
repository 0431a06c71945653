"""Publish the warehouse: build it in a temporary file, then rename that file over the old one.

DuckDB locks readers out while a writer has the file open. With the rename, readers keep the old file and
nobody waits, and a crash leaves the old file intact. `write_atomically` of storage/files.py does not fit: a
killed build leaves a database and its log behind, which the next build must remove.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from primitives.errors import InputError
from storage.layout import PUBLISH_LOCK, WAREHOUSE
from warehouse.loading import load_warehouse

LOCK_TIMEOUT_S = 600.0
# DuckDB 1.4 opens the warehouse. From version 1.4.2 on it finds the subqueries of our table macros, so that
# every view works; `make test-interop` reads all of them.
STORAGE_VERSION = "v1.4.0"
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
    """Rebuild the warehouse from everything that is complete under `root`; return its path.

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


def _publish(root: Path) -> Path:
    """Build a temporary file and rename it; remove the file if the build fails."""
    _remove_leftovers(root)
    aside = root / f"{WAREHOUSE}.next-{os.getpid()}"
    try:
        problems = _build(aside, root)
        os.replace(aside, root / WAREHOUSE)
    except BaseException:
        _remove_leftovers(root)
        raise
    _sync(root)
    if problems:
        raise PartsLeftOut(problems)
    return root / WAREHOUSE


def _build(aside: Path, root: Path) -> list[str]:
    """Write the database, merge its log into it, and flush it to disk; return what was left out."""
    with duckdb.connect(str(aside), config={"storage_compatibility_version": STORAGE_VERSION}) as connection:
        problems = load_warehouse(connection, root)
        connection.execute("checkpoint")
    _sync(aside)
    return problems


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
