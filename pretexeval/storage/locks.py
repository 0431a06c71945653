"""File locks, which one process of this host holds at a time."""

import contextlib
import glob
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from pretexeval.storage.layout import LOCKS_FOLDER, lease_object, model_lock
from pretexeval.storage.store import Store

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


@contextlib.contextmanager
def hold_model(store: Store, model_id: str, shard: str | None = None) -> Iterator[Callable[[], None]]:
    """Hold the lock of a model, or of a shard, blocking until it is free; yield a check of it.

    Args:
        shard: the name of a shard, such as `shard-1-of-2`; None: all prompts may be asked.

    Raises:
        InputError: the storage that hosts share cannot be used.
    """
    with ExitStack() as held:
        with ExitStack() as turnstile:
            require_held = turnstile.enter_context(_hold(store, model_id))
            for other in _list_shards(store, model_id):
                if shard is None or _read_division(other) != _read_division(shard):
                    with _hold(store, f"{model_id}.{other}"):
                        pass
            if shard is None:
                held.enter_context(turnstile.pop_all())
            else:
                require_held = held.enter_context(_hold(store, f"{model_id}.{shard}"))
        yield require_held


@contextlib.contextmanager
def _hold(store: Store, name: str) -> Iterator[Callable[[], None]]:
    with hold_file_lock(store.root / model_lock(name), f"asking {name}"), store.hold_lease(name) as check:
        yield check


def _list_shards(store: Store, model_id: str) -> list[str]:
    """Return the names of the shards that were ever asked on this host, or on those that share the bucket."""
    pattern = model_lock(f"{glob.escape(model_id)}.shard-*")
    paths = [path.as_posix() for path in store.root.glob(pattern)]
    if store.bucket is not None:
        start = lease_object(f"{model_id}.shard-").removesuffix(".json")
        paths += [path for path in store.bucket.list_objects(LOCKS_FOLDER) if path.startswith(start)]
    return sorted({PurePosixPath(path).stem.removeprefix(f"{model_id}.") for path in paths})


def _read_division(shard: str) -> str:
    """Return into how many shards the prompts are divided."""
    return shard.rpartition("-of-")[2]
