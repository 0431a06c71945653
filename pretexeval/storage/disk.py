"""Free space on the disk of the data folder: measured before a run, reserved before answers are written."""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pretexeval.primitives.errors import InputError

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
def reserve_space(folder: Path, n_bytes: int) -> Iterator[None]:
    """Reserve disk space until the block ends, so that data written right after the block fits.

    Raises:
        InputError: the disk has less free space.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise InputError(
                f"{folder}: there is no room for {n_bytes / 1e6:.1f} MB of answers, so no more prompts are "
                "sent; make room and run again (the answers so far are kept)"
            ) from None
        yield
