"""What is loaded from disk: JSON records and Parquet files, with errors that name the file."""

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from primitives.errors import InputError
from schemas.stages import Stage
from storage.files import FileRef
from storage.records import parse_record, read_files

REBUILD = "run `pretexeval run CONFIG` to rebuild it"


def read_record(path: Path) -> dict[str, Any]:
    """The JSON object in a file; InputError if it is not one."""
    try:
        return parse_record(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); {REBUILD}") from error


def find_complete(folder: Path, record: str) -> list[Path]:
    """The folders in `folder` that hold the record which marks them complete, by name."""
    return sorted(path.parent for path in folder.glob(f"*/{record}"))


def find_files(folder: Path, record: dict[str, Any], stage: Stage) -> list[Path]:
    """The stage's files that the record lists, or all that are there if it lists none at all.

    Listed, because a folder may still hold a relation that is no longer part of it.
    """
    if not record.get("files"):
        return sorted((folder / stage.name).glob("*.parquet"))
    paths = [Path(ref.path) for ref in _list_files(folder, record, stage)]
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: listed as complete, but not there; {REBUILD}")
    return paths


def check_rows(folder: Path, record: dict[str, Any], stage: Stage, n_rows: int) -> None:
    """InputError if the stage's files gave another number of rows than the record lists."""
    if not record.get("files"):
        return
    n_listed = sum(ref.n_rows for ref in _list_files(folder, record, stage))
    if n_rows != n_listed:
        raise InputError(f"{folder / stage.name}: {n_rows} rows where {n_listed} are listed; {REBUILD}")


def _list_files(folder: Path, record: dict[str, Any], stage: Stage) -> list[FileRef]:
    """The stage's files that the record lists, by path; InputError if its list cannot be read."""
    try:
        refs = read_files(record, folder.as_posix())
    except ValueError as error:
        raise InputError(f"{folder}: its record cannot be used ({error}); {REBUILD}") from error
    prefix = f"{folder.as_posix()}/{stage.name}/"
    return sorted((ref for ref in refs if ref.path.startswith(prefix)), key=lambda ref: ref.path)


def insert_parquet(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    files: Mapping[str, tuple[Stage, Sequence[Path]]],
    *,
    remedy: str = REBUILD,
    **values: object,
) -> int:
    """How many rows an `insert … from read_parquet($name)` put in.

    `files` gives, for each $name, the stage and its files. A file that cannot be read, or lacks a
    column of its stage, is an InputError that names it and the `remedy`.
    """
    parameters: dict[str, object] = dict(values)
    for name, (_, paths) in files.items():
        # DuckDB takes [, * and ? in a path for a pattern.
        parameters[name] = [glob.escape(str(path)) for path in paths]
    try:
        row = connection.execute(statement, parameters).fetchone()
    except duckdb.Error:
        for stage, paths in files.values():
            _find_broken(connection, stage, paths, remedy)
        raise
    return int(row[0]) if row else 0


def _find_broken(
    connection: duckdb.DuckDBPyConnection, stage: Stage, paths: Sequence[Path], remedy: str
) -> None:
    """Read every file alone, all of the stage's columns, and raise for the first that fails."""
    # A count would read the headers of the columns and not their values.
    values = ", ".join(stage.names)
    for path in paths:
        try:
            connection.execute(
                f"select bit_xor(hash({values})) from read_parquet($path)",
                {"path": [glob.escape(str(path))]},
            ).fetchall()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{path}: cannot be read as {stage.name} ({reason}); {remedy}") from error
