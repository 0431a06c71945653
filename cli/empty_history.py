"""An empty history for a new Prefect server, copied from the first one that was made on this machine.

Prefect makes the tables of a new history by more than a hundred migrations, which take 5 s of one core: as
long as everything else that its server does to start. The copy is in the folder of the user's caches, and
nothing is lost when it is removed.
"""

import contextlib
import logging
import os
import sqlite3
from importlib.metadata import version
from pathlib import Path
from shutil import copyfile

from cli.prefect_history import DATABASE, PARTS

logger = logging.getLogger(__name__)

_new: set[Path] = set()
"""Homes of servers that make their tables themselves."""


def copy_empty_history(home: Path) -> None:
    """Give a home without a history the copy of an empty one, if there is a copy."""
    if any((home / f"{DATABASE}{part}").exists() for part in PARTS):
        return
    path = home / DATABASE
    part = path.with_name(f"{DATABASE}.{os.getpid()}.part")
    try:
        copyfile(_find_copy(), part)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        _new.add(home)


def keep_empty_history() -> None:
    """Keep a copy of the history that a server has just made, before a run uses it.

    A cache that cannot be written is no error.
    """
    while _new:
        history, copy = _new.pop() / DATABASE, _find_copy()
        if not history.is_file():
            # The environment names another database.
            continue
        part = copy.with_name(f"{copy.name}.{os.getpid()}.part")
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with (
                contextlib.closing(sqlite3.connect(history)) as source,
                contextlib.closing(sqlite3.connect(part)) as target,
            ):
                source.backup(target)
            part.replace(copy)
        except (OSError, sqlite3.Error) as error:
            logger.debug("no copy of the empty history was kept: %s", error)
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _find_copy() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "pretexeval" / f"prefect-{version('prefect')}.db"
