"""Ids and draws are hashes of content: the same on every machine, in any order of rows.

BLAKE2b from the standard library; the hash functions of data-frame libraries change between versions.
"""

import hashlib
import json
from collections.abc import Iterable

SEPARATOR = "\x1f"


def hash_text(*parts: str, digits: int = 16) -> str:
    """Hash of the parts in order, as ``digits`` hexadecimal digits."""
    content = SEPARATOR.join(parts).encode()
    return hashlib.blake2b(content, digest_size=digits // 2).hexdigest()


def hash_json(value: object, digits: int = 16) -> str:
    """Hash of a JSON-like value, keys sorted."""
    return hash_text(render_canonical_json(value), digits=digits)


def render_canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces: one text per value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def draw_order(items: Iterable[str], *salt: str) -> list[str]:
    """The items in the order of their salted hashes: a shuffle that no order of input changes."""
    prefix = SEPARATOR.join(salt)
    return sorted(items, key=lambda item: hash_text(prefix, item))


def draw_one(items: Iterable[str], *salt: str) -> str:
    """The item whose salted hash is the smallest: a uniform draw.

    Raises:
        ValueError: if there is no item.
    """
    prefix = SEPARATOR.join(salt)
    return min(items, key=lambda item: (hash_text(prefix, item), item))
