"""File locks, which one process of this host holds at a time."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def hold_file_lock(path: Path, activity: str) -> Iterator[None]:
    """Hold the lock of this file until the block ends, blocking until it is free.

    The operating system releases the lock if this process is killed.

    Args:
        activity: what a process does while it holds the lock, for the log of one that waits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.warning("another process is %s: waiting until it ends", activity)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
