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
    """Copy a cached file in one rename; return whether there was one."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        copyfile(find_cached(name), part)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        return False
    return True


def keep_cached(name: str, write: Callable[[Path], None]) -> None:
    """Make a cached file in one rename, and remove those of other versions.

    A cache that cannot be written is no error.

    Args:
        name: up to its last hyphen the same for all versions.
        write: writes the file to the path that it is given.
    """
    cached = find_cached(name)
    part = cached.with_name(f"{name}.{os.getpid()}.part")
    with contextlib.suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        for old in cached.parent.glob(f"{name.rpartition('-')[0]}-*"):
            if old != cached and not old.name.endswith(".part"):
                old.unlink(missing_ok=True)
        try:
            write(part)
            part.replace(cached)
        finally:
            part.unlink(missing_ok=True)
