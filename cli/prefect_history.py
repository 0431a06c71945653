"""The history of the Prefect server that a command starts: a damaged one is set aside.

The server does not start on a damaged database. The history holds past runs only: no results, and nothing
that a run needs.
"""

import contextlib
import logging
import sqlite3
from pathlib import Path

logger = logging.getLogger(__name__)

DATABASE = "prefect.db"
# SQLite keeps the last changes in files of their own.
PARTS = ("", "-wal", "-shm")


def set_aside_damaged_history(home: Path) -> None:
    """Rename the server's database to `prefect.db.damaged` if it is damaged, so that a new one is made."""
    path = home / DATABASE
    if not path.is_file() or (reason := _find_damage(path)) is None:
        return
    logger.warning(
        "%s, the history of the Prefect server, is damaged (%s) and was renamed to %s.damaged; a new one is "
        "made, and no result is lost",
        path,
        reason,
        DATABASE,
    )
    for part in PARTS:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(DATABASE + part).replace(path.with_name(f"{DATABASE}.damaged{part}"))


def _find_damage(path: Path) -> str | None:
    """Return what is wrong with the database; null if nothing is, or if it cannot be checked now."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("pragma quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        # Another process has locked it, or may read it and this one may not.
        return None
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else str(found).splitlines()[0]
