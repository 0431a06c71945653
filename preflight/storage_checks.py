"""Checks of storage: the disk of the data folder, and the object storage that hosts share."""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from engines.api_keys import name_secret_block
from preflight.findings import Finding
from preflight.key_checks import FoundKey
from primitives.errors import InputError
from primitives.secrets import hide_value
from storage.bucket import SECRET_VARIABLES, Bucket
from storage.disk import measure_free_space
from storage.lease import Lease

TITLE = "shared storage"
# A run retries for minutes; a user of the doctor waits for its answer.
PATIENCE = timedelta(seconds=10)


def check_room(root: Path, needed_bytes: int, what: str) -> Finding:
    """Check that the data folder can be written and that its disk has room; leave nothing there.

    Args:
        what: what needs the room, as in "a run".
    """
    title = "storage"
    try:
        n_free = measure_free_space(root)
    except InputError as error:
        return Finding(title, "failing", str(error))
    found = f"{root}: {n_free / 1e9:.2f} GB free, {what} needs about {needed_bytes / 1e9:.2f} GB"
    if n_free < needed_bytes:
        remedy = "make room, choose another folder, or lower heads_per_relation"
        return Finding(title, "failing", found, remedy)
    if n_free < 2 * needed_bytes:
        return Finding(title, "warning", found, "there is room for this run, but not for another one")
    return Finding(title, "ok", found)


def check_shared(address: str, keys: Mapping[str, FoundKey] | None = None) -> Finding:
    """Check that objects can be written and read there and that a lease can be held; leave nothing there.

    Args:
        keys: variable -> key, as `find_storage_keys` returns them.
    """
    keys = keys or {}
    path = f"locks/doctor-{secrets.token_hex(4)}.json"
    try:
        with _provide(keys):
            bucket = Bucket(address, PATIENCE)
        # This request fails before the lease makes several, so an unreachable storage costs one timeout.
        bucket.read(path)
        try:
            with Lease(bucket, path):
                pass
        finally:
            bucket.remove(path)
    except InputError as error:
        return Finding(TITLE, "failing", _hide(str(error), keys), "" if keys else _explain_missing(address))
    return Finding(TITLE, "ok", f"{address}: readable, writable, keeps conditional writes")


@contextlib.contextmanager
def _provide(keys: Mapping[str, FoundKey]) -> Iterator[None]:
    """Set the variables that the environment lacks until the block ends: the storage's client reads them."""
    before = {name: os.environ.get(name) for name in keys if not os.environ.get(name, "").strip()}
    os.environ.update({name: keys[name].value for name in before})
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _hide(text: str, keys: Mapping[str, FoundKey]) -> str:
    for key in keys.values():
        text = hide_value(text, key.value)
    return text


def _explain_missing(address: str) -> str:
    names = SECRET_VARIABLES[address.partition("://")[0]]
    return (
        f"no key was found: set {', '.join(names)} (those that the storage needs), or create Prefect Secret "
        f"blocks such as {name_secret_block(names[0])!r}"
    )
