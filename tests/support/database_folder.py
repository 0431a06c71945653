"""Where PostgreSQL may keep the data of a test."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.postgres import find_binaries

NEEDS_POSTGRES = pytest.mark.skipif(
    find_binaries() is None, reason="no PostgreSQL here (Debian: apt-get install postgresql)"
)


@contextmanager
def open_database_folder() -> Iterator[Path]:
    """A folder for PostgreSQL, gone after the block.

    Not under tmp_path: pytest closes that to everybody but the user who runs the tests, and where that is
    root, PostgreSQL is another.
    """
    with tempfile.TemporaryDirectory(prefix="pretexeval-postgres-") as name:
        yield Path(name)
