"""The history of a Prefect server, as far as a test needs it: the table that names its version."""

import sqlite3

from cli.prefect_history import VERSION_TABLE

# The first revision of the tables of a Prefect server.
REVISION = "9725c1cbee35"


def write_version(connection: sqlite3.Connection) -> None:
    """Add the table with the revision of the other tables."""
    connection.execute(f"create table {VERSION_TABLE} (version_num text)")
    connection.execute(f"insert into {VERSION_TABLE} values (?)", [REVISION])
