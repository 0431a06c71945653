"""A database with all tables and views and no rows, copied from one that was made before.

Creating the views takes 2 s of one core, because DuckDB resolves each of them and everything that it reads.
"""

from pathlib import Path

import duckdb

from primitives.hashing import hash_json
from storage.user_cache import copy_cached, find_cached, keep_cached
from warehouse.catalogue import create_tables, create_views
from warehouse.published import STORAGE_VERSION, describe_code


def copy_empty_warehouse(path: Path) -> bool:
    """Copy the database of this version of the code, which is made first if there is none.

    Return whether it was copied; it is not where the user's caches cannot be written.
    """
    if copy_cached(_name_copy(), path):
        return True
    keep_cached(_name_copy(), _create)
    return copy_cached(_name_copy(), path)


def forget_empty_warehouse() -> None:
    """Remove the database from the caches, because it is damaged."""
    find_cached(_name_copy()).unlink(missing_ok=True)


def _create(path: Path) -> None:
    try:
        with duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE_VERSION}) as made:
            create_tables(made)
            create_views(made)
            made.execute("checkpoint")
    except duckdb.Error as error:
        raise OSError(str(error)) from error


def _name_copy() -> str:
    return f"warehouse-{hash_json([describe_code(), duckdb.__version__], digits=16)}.duckdb"
