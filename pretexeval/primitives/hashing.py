"""Ids, random draws and checksums of files, as hashes of content.

They are the same on every machine and in any order of rows.

The hash is BLAKE2b of the standard library, because the hash functions of data-frame libraries change between
versions. Stored data is found by these hashes, so their results must never change.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

SEPARATOR = "\x1f"
# Hashing 140 GB of weights takes minutes, so all models and flows of one process share the checksums.
# A file counts as unchanged while its device, inode, size and time of modification are the same.
# A hard link shares all four, so it has the checksum of the file that it links to.
_known_checksums: dict[tuple[int, int, int, int], str] = {}


def hash_text(*parts: str, digits: int = 16) -> str:
    """Return the hash of the parts, in their order, as ``digits`` hexadecimal digits."""
    content = SEPARATOR.join(parts).encode()
    return hashlib.blake2b(content, digest_size=digits // 2).hexdigest()


def hash_joined(texts: Iterable[str], digits: int = 16) -> str:
    """Return `hash_text` of the parts of all texts. Each text is some of the parts, joined by SEPARATOR."""
    content = hashlib.blake2b(digest_size=digits // 2)
    for number, text in enumerate(texts):
        content.update((SEPARATOR * (number > 0) + text).encode())
    return content.hexdigest()


def hash_files(paths: Iterable[Path], digits: int = 16) -> str:
    """Return the hash of the names and texts of files, in the order of their paths."""
    return hash_text(
        *(part for path in sorted(paths) for part in (path.name, path.read_text(encoding="utf-8"))),
        digits=digits,
    )


def hash_json(value: object, digits: int = 16) -> str:
    """Return the hash of a JSON-like value. The order of its keys does not matter."""
    return hash_text(render_canonical_json(value), digits=digits)


def render_canonical_json(value: object) -> str:
    """Return the value as JSON with sorted keys and no spaces, so that equal values give equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def draw_order(items: Iterable[str], *salt: str) -> list[str]:
    """Return the items in the order of their salted hashes: a shuffle that ignores their input order."""
    prefix = SEPARATOR.join(salt)
    return sorted(items, key=lambda item: hash_text(prefix, item))


def draw_one(items: Iterable[str], *salt: str) -> str:
    """Return the item whose salted hash is the smallest, which is a uniform draw.

    Raises:
        ValueError: there are no items.
    """
    # The hash of `hash_text`, which begins with the salt. Hashing the salt once takes half of the time.
    salted = hashlib.blake2b((SEPARATOR.join(salt) + SEPARATOR).encode(), digest_size=8)

    def hash_item(item: str) -> tuple[bytes, str]:
        copy = salted.copy()
        copy.update(item.encode())
        return copy.digest(), item

    return min(items, key=hash_item)


def checksum_file(path: Path) -> str:
    """Return the SHA-256 of the file's bytes; the file is read once in this process until it changes.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    status = path.stat()
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    if stamp not in _known_checksums:
        with path.open("rb") as file:
            _known_checksums[stamp] = hashlib.file_digest(file, "sha256").hexdigest()
    return _known_checksums[stamp]
