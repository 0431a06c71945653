"""Free space on the disk of the data folder: measured before a run, reserved before answers are written."""

import os
import shutil
import tempfile
from pathlib import Path

from pretexeval.primitives.errors import FULL_DISK, InputError

# Prefect's server does not start without space for its history, and a run would wait for it in vain.
MIN_FREE_BYTES = 50_000_000


def measure_free_space(folder: Path, setting: str = "") -> int:
    """Check that a folder can be written, and return the free bytes of its disk. Leave no file there.

    If the folder does not exist, its nearest existing parent is checked.

    Args:
        setting: the setting that names the folder, for the message.

    Raises:
        InputError: the folder cannot be written.
    """
    existing = folder.absolute()
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    try:
        # The file has no name, so nothing remains even if this process is killed.
        with tempfile.TemporaryFile(dir=existing):
            pass
        return shutil.disk_usage(existing).free
    except OSError as error:
        raise InputError(
            f"{setting} {folder} cannot be written ({error.strerror}); ".lstrip()
            + "choose another folder, or make it writable"
        ) from None


class ReservedSpace:
    """Disk space that no program can take until the block ends, so that data written right after it fits."""

    def __init__(self, folder: Path) -> None:
        """Reserve nothing yet in this folder, which is created."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._n_bytes = 0
        # The file has no name, so nothing remains even if this process is killed.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed at the end of the block)

    def __enter__(self) -> "ReservedSpace":
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the space."""
        self._file.close()

    def extend(self, n_bytes: int) -> bool:
        """Reserve so many bytes in all, and some more if there are; return whether the disk has them."""
        with_more = n_bytes + n_bytes // 4
        return n_bytes <= self._n_bytes or self._allocate(with_more) or self._allocate(n_bytes)

    def require(self, n_bytes: int) -> None:
        """Reserve so many bytes in all.

        Raises:
            InputError: the disk has less free space.
        """
        if not self.extend(n_bytes):
            raise InputError(
                f"{self._folder}: there is no room for {n_bytes / 1e6:.1f} MB of answers, so no more prompts "
                "are sent; make room and run again (the answers so far are kept)"
            )

    def _allocate(self, n_bytes: int) -> bool:
        """Give the file this size; return whether the disk has the space.

        More than the free space is never requested: until the request failed, no program could write.
        """
        file = self._file.fileno()
        disk = os.fstatvfs(file)
        if n_bytes - self._n_bytes > disk.f_bavail * disk.f_frsize:
            return False
        try:
            os.posix_fallocate(file, 0, n_bytes)
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            os.ftruncate(file, self._n_bytes)
            return False
        self._n_bytes = n_bytes
        return True
