"""Checks of storage: the disk of the data folder, and the storage that hosts share."""

import secrets
from datetime import timedelta
from pathlib import Path

from preflight.findings import Finding
from primitives.errors import InputError
from storage.bucket import Bucket
from storage.disk import measure_room
from storage.lease import Lease

TITLE = "shared storage"
PATIENCE = timedelta(seconds=10)


def check_room(root: Path, needed_bytes: int, what: str) -> Finding:
    """Check that the data folder can be written and that its disk has room; leave nothing there.

    Args:
        what: what needs the room, as in "a run".
    """
    title = "storage"
    try:
        n_free = measure_room(root)
    except InputError as error:
        return Finding(title, "failing", str(error))
    found = f"{root}: {n_free / 1e9:.2f} GB free, {what} takes some {needed_bytes / 1e9:.2f} GB"
    if n_free < needed_bytes:
        return Finding(title, "failing", found, "make room, choose another folder, or cap heads_per_relation")
    if n_free < 2 * needed_bytes:
        return Finding(title, "warning", found, "room for this run, and not for the next")
    return Finding(title, "ok", found)


def check_shared(address: str) -> Finding:
    """Whether objects can be written and read there, and one process at a time be held; leaves nothing."""
    path = f"locks/doctor-{secrets.token_hex(4)}.json"
    try:
        bucket = Bucket(address, PATIENCE)
        # Where nobody answers, this alone is waited for.
        bucket.read(path)
        try:
            with Lease(bucket, path):
                pass
        finally:
            bucket.remove(path)
    except InputError as error:
        return Finding(TITLE, "failing", str(error))
    return Finding(TITLE, "ok", f"{address}: readable, writable, keeps conditional writes")
