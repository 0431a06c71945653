"""Free space on the disk of the data folder: measured before a run, reserved before answers are written."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pretexeval.primitives.errors import FULL_DISK, InputError

# Prefect's server does not start without space for its history, and a run would wait for it in vain.
MIN_FREE_BYTES = 50_000_000


def measure_free_space(root: Path) -> int:
    """Check that a folder can be written, and return the free bytes of its disk. Leave no file there.

    If the folder does not exist, its nearest existing parent is checked.

    Raises:
        InputError: the folder cannot be written.
    """
    existing = root.absolute()
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    try:
        # The file has no name, so nothing remains even if this process is killed.
        with tempfile.TemporaryFile(dir=existing):
            pass
        return shutil.disk_usage(existing).free
    except OSError as error:
        raise InputError(
            f"[storage] root {root} cannot be written ({error.strerror}); "
            "choose another folder, or make it writable"
        ) from None


@contextlib.contextmanager
def reserve_space(folder: Path, n_bytes: int, n_least: int | None = None) -> Iterator[int]:
    """Reserve disk space until the block ends, so that data written right after the block fits.

    Yield the number of bytes.

    Args:
        n_bytes: the bytes wanted.
        n_least: the bytes that are enough if the disk has fewer; None: as many as wanted.

    Raises:
        InputError: the disk has less free space.
    """
    least = n_bytes if n_least is None else min(n_least, n_bytes)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        while not _allocate(file.fileno(), n_bytes):
            if n_bytes == least:
                raise InputError(
                    f"{folder}: there is no room for {least / 1e6:.1f} MB of answers, so no more prompts are "
                    "sent; make room and run again (the answers so far are kept)"
                )
            n_bytes = max(n_bytes // 2, least)
        yield n_bytes


def _allocate(file: int, n_bytes: int) -> bool:
    """Give an empty file this size; return whether the disk has the space.

    More space than is free is not asked for: until that failed, the disk would be full for all programs.
    """
    disk = os.fstatvfs(file)
    if n_bytes > disk.f_bavail * disk.f_frsize:
        return False
    try:
        os.posix_fallocate(file, 0, n_bytes)
        return True
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        os.ftruncate(file, 0)
        return False
