"""File locks, which one process of this host holds at a time."""

import contextlib
import errno
import glob
import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from pretexeval.primitives.hashing import hash_text
from pretexeval.storage.layout import LOCKS_FOLDER, lease_object, model_lock
from pretexeval.storage.store import Store

logger = logging.getLogger(__name__)

POLL_S = 0.1
# Linux lists the addresses of all sockets here.
ADDRESSES = Path("/proc/net/unix")


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


@contextlib.contextmanager
def hold_model(store: Store, model_id: str, shard: str | None = None) -> Iterator[Callable[[], None]]:
    """Hold the lock of a model, or of a shard, blocking until it is free; yield a check of it.

    Args:
        shard: the name of a shard, such as `shard-1-of-2`; None: all prompts may be asked.

    Raises:
        InputError: the storage that hosts share cannot be used.
    """
    if shard is not None:
        # Wait here for another process of the same shard: behind the turnstile, other shards would wait too.
        with _hold(store, model_id, shard):
            pass
    with ExitStack() as held:
        with ExitStack() as turnstile:
            require_held = turnstile.enter_context(_hold(store, model_id))
            for other in _list_shards(store, model_id):
                if shard is None or _read_division(other) != _read_division(shard):
                    with _hold(store, model_id, other):
                        pass
                    _forget_shard(store, model_id, other)
            if shard is None:
                held.enter_context(turnstile.pop_all())
            else:
                require_held = held.enter_context(_hold(store, model_id, shard))
        yield require_held


@contextlib.contextmanager
def _hold(store: Store, model_id: str, shard: str | None = None) -> Iterator[Callable[[], None]]:
    name = f"{model_id}.{shard}" if shard else model_id
    with (
        hold_file_lock(store.root / model_lock(name), f"asking {name}"),
        _hold_address(f"{_name_addresses(store.root, model_id)}{shard or ''}", name),
        store.hold_lease(name) as check,
    ):
        yield check


def _name_addresses(root: Path, model_id: str) -> str:
    """Return how the addresses of a model and of its shards begin."""
    folder = root.stat()
    return f"pretexeval/{hash_text(str(folder.st_dev), str(folder.st_ino), model_id)}/"


@contextlib.contextmanager
def _hold_address(address: str, name: str) -> Iterator[None]:
    """Hold an address of this host, blocking until it is free.

    If a lock file is deleted while a process holds its lock, another process can lock a new file of this
    name, but cannot get the address. Linux releases an abstract address when its process ends.
    """
    with socket.socket(socket.AF_UNIX) as held:
        is_waiting = False
        while True:
            try:
                held.bind(f"\0{address}")
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            if not is_waiting:
                logger.warning(
                    "the lock file of a process that is asking %s was deleted: waiting until it ends", name
                )
            is_waiting = True
            time.sleep(POLL_S)
        yield


def _list_shards(store: Store, model_id: str) -> list[str]:
    """Return the names of the shards that were asked on this host, or on those that share the bucket.

    If lock files were deleted, those that are asked now are known by their addresses.
    """
    pattern = model_lock(f"{glob.escape(model_id)}.shard-*")
    paths = [path.as_posix() for path in store.root.glob(pattern)]
    if store.bucket is not None:
        start = lease_object(f"{model_id}.shard-").removesuffix(".json")
        paths += [path for path in store.bucket.list_objects(LOCKS_FOLDER) if path.startswith(start)]
    shards = {PurePosixPath(path).stem.removeprefix(f"{model_id}.") for path in paths}
    address = re.escape(_name_addresses(store.root, model_id))
    return sorted(shards.union(re.findall(rf"@{address}(shard-\S+)", ADDRESSES.read_text())))


def _forget_shard(store: Store, model_id: str, shard: str) -> None:
    """Remove the lock of a shard that nobody asks, so that no later process checks it.

    The caller holds the turnstile, so that no process starts to ask the shard meanwhile.
    """
    name = f"{model_id}.{shard}"
    (store.root / model_lock(name)).unlink(missing_ok=True)
    if store.bucket is not None:
        store.bucket.remove(lease_object(name))


def _read_division(shard: str) -> str:
    """Return into how many shards the prompts are divided."""
    return shard.rpartition("-of-")[2]
