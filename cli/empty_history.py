"""An empty history for a new Prefect server, copied from the first one that was made on this machine.

Prefect makes the tables of a new history by more than a hundred migrations, which take 5 s of one core: as
long as everything else that its server does to start.
"""

import contextlib
import sqlite3
from functools import partial
from importlib.metadata import version
from pathlib import Path

from cli.prefect_history import DATABASE, PARTS
from storage.user_cache import copy_cached, keep_cached

_new: set[Path] = set()
"""Homes of servers that make their tables themselves."""


def copy_empty_history(home: Path) -> None:
    """Give a home without a history the copy of an empty one, if there is a copy."""
    if any((home / f"{DATABASE}{part}").exists() for part in PARTS):
        return
    if not copy_cached(_name_copy(), home / DATABASE):
        _new.add(home)


def keep_empty_history() -> None:
    """Keep a copy of the history that a server has just made, before a run uses it."""
    while _new:
        history = _new.pop() / DATABASE
        # Without it, the environment names another database.
        if history.is_file():
            keep_cached(_name_copy(), partial(_copy_history, history))


def _copy_history(history: Path, copy: Path) -> None:
    try:
        with (
            contextlib.closing(sqlite3.connect(history)) as source,
            contextlib.closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _name_copy() -> str:
    return f"prefect-{version('prefect')}.db"
