"""The history of the Prefect server that a command starts: one that it cannot use is set aside.

The server does not start on a damaged database, nor on one with the tables of another program or of another
version. The history holds past runs only: no results, and nothing that a run needs.
"""

import contextlib
import importlib.util
import logging
import re
import sqlite3
from pathlib import Path

logger = logging.getLogger(__name__)

DATABASE = "prefect.db"
# SQLite keeps the last changes in files of their own.
PARTS = ("", "-wal", "-shm")
VERSION_TABLE = "alembic_version"
"""The table in which Prefect keeps the revision of its tables. It is the first one that Prefect creates."""
REVISION = re.compile(r"^revision\b[^=\n]*=\s*[\"'](\w+)", re.MULTILINE)
REVISIONS_FOLDER = "server/database/_migrations/versions/sqlite"


def set_aside_damaged_history(home: Path) -> None:
    """Rename the server's database to `prefect.db.damaged` if it cannot be used; then a new one is made."""
    path = home / DATABASE
    if not path.is_file() or (reason := _find_problem(path)) is None:
        return
    logger.warning(
        "%s, the history of the Prefect server, cannot be used (%s) and was renamed to %s.damaged; a new one "
        "is made, and no result is lost",
        path,
        reason,
        DATABASE,
    )
    for part in PARTS:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(DATABASE + part).replace(path.with_name(f"{DATABASE}.damaged{part}"))


def _find_problem(path: Path) -> str | None:
    """Return what is wrong with the database; null if nothing is, or if it cannot be checked now."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("pragma quick_check(1)").fetchone()
            return str(found).splitlines()[0] if found != "ok" else _find_foreign_tables(connection)
    except sqlite3.OperationalError:
        # Another process has locked it, or may read it and this one may not.
        return None
    except sqlite3.DatabaseError as error:
        return str(error)


def _find_foreign_tables(connection: sqlite3.Connection) -> str | None:
    """Return why the tables are not those of the installed Prefect; null if they are, or if it has none."""
    tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    if not tables:
        return None
    if (VERSION_TABLE,) not in tables:
        return f"it holds the table {tables[0][0]} of another program"
    known = _list_revisions()
    revisions = [str(row[0]) for row in connection.execute(f"select * from {VERSION_TABLE}")]
    unknown = [revision for revision in revisions if known and revision not in known]
    return (
        f"its tables have the revision {unknown[0]}, which this version of Prefect lacks" if unknown else None
    )


def _list_revisions() -> set[str]:
    """Return the revisions of the tables that the installed Prefect knows; none if it hides them."""
    spec = importlib.util.find_spec("prefect")
    folders = [Path(each) for each in (spec and spec.submodule_search_locations) or ()]
    texts = [
        path.read_text("utf-8") for folder in folders for path in folder.glob(f"{REVISIONS_FOLDER}/*.py")
    ]
    return {found[1] for text in texts if (found := REVISION.search(text))}
