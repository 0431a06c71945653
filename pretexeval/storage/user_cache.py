"""The folder of the user's caches, for files that are made once on a machine and can be made again."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile


def find_cached(name: str) -> Path:
    """Return the path of a cached file, which need not exist."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "pretexeval" / name


def copy_cached(name: str, path: Path) -> bool:
    """Copy a cached file to a path that nobody reads yet; return whether there was one and it was copied."""
    try:
        copyfile(find_cached(name), path)
    except OSError:
        path.unlink(missing_ok=True)
        return False
    return True


def keep_cached(name: str, write: Callable[[Path], None]) -> None:
    """Make a cached file atomically, and remove those of other versions.

    A cache that cannot be written is no error.

    Args:
        name: up to its last hyphen the same for all versions.
        write: writes the file to the path that it is given.
    """
    # Imported here, because it imports polars, and commands that never write a cached file start without it.
    from pretexeval.storage.files import write_atomically

    cached = find_cached(name)
    with contextlib.suppress(OSError):
        with write_atomically(cached) as temporary:
            write(temporary)
        for old in cached.parent.glob(f"{name.rpartition('-')[0]}-*"):
            if old != cached:
                old.unlink(missing_ok=True)
