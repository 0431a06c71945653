"""Checksums of files, each computed once as long as the file stays as it is."""

import hashlib
from pathlib import Path

# Hashing 140 GB of weights takes minutes, and all models and flows of one process share the result.
# A file counts as unchanged while its device, inode, size and time of modification are the same.
# A hard link shares all four, so it has the checksum of the file that it links to.
_known: dict[tuple[int, int, int, int], str] = {}


def checksum_file(path: Path) -> str:
    """Return the SHA-256 of the file's bytes; the file is read once in this process until it changes.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    stamp = _read_stamp(path)
    if stamp not in _known:
        with path.open("rb") as file:
            _known[stamp] = hashlib.file_digest(file, "sha256").hexdigest()
    return _known[stamp]


def _read_stamp(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
