"""A folder in which PostgreSQL can store the data of a test."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commands.deploy.local.postgres import find_binaries

NEEDS_POSTGRES = pytest.mark.skipif(
    find_binaries() is None, reason="no PostgreSQL here (Debian: apt-get install postgresql)"
)


@contextmanager
def open_database_folder() -> Iterator[Path]:
    """Yield a folder for PostgreSQL, and delete it after the block.

    It is not under tmp_path, which pytest closes to all other users: if root runs the tests, PostgreSQL runs
    as another user.
    """
    with tempfile.TemporaryDirectory(prefix="pretexeval-postgres-") as name:
        yield Path(name)
