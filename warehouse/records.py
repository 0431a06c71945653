"""Read JSON records and Parquet files from disk, with errors that name the file."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.primitives.literal_paths import escape_pattern
from pretexeval.storage.files import FileRef
from pretexeval.storage.records import explain_missing, find_record, read_files
from schemas.columns import Stage

REBUILD = "run `pretexeval run CONFIG` to rebuild it"
RESTORE = f"restore the file from a backup, or {REBUILD}"


class RecordMissing(InputError):
    """A folder cannot be loaded, because a record is missing that a run writes again."""


def require_record(path: Path, **expected: object) -> dict[str, Any]:
    """Return the record in a file; set a damaged one aside.

    Raises:
        RecordMissing: the record is missing or damaged.
    """
    record = find_record(path, REBUILD, **expected)
    if record is None:
        raise RecordMissing(explain_missing(path, f"so {path.parent} is left out; {REBUILD}"))
    return record


def check_files(folder: Path, record: dict[str, Any], name: str) -> None:
    """Check every file that the record of a folder lists, also those that are not loaded.

    Args:
        name: of the record.

    Raises:
        InputError: a file is missing, or its bytes are not those that the record lists.
    """
    for ref in read_files(record, folder.as_posix()):
        path = Path(ref.path)
        if not path.is_file():
            raise InputError(f"{path}: listed in {name}, but missing; {RESTORE}")
        if checksum_file(path) != ref.sha256:
            raise InputError(
                f"{path}: differs from the checksum in {name}, so one of them was changed; {RESTORE}"
            )


def parse_time(path: Path, record: dict[str, Any], name: str) -> datetime | None:
    """Return the ISO time of that name in a record as UTC without a time zone, as the tables store it.

    Raises:
        InputError: it is not an ISO time; the message names the file.
    """
    if (text := record.get(name)) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {name} is {text!r}, not an ISO time; {REBUILD}") from error
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def read_price(record: Mapping[str, Any]) -> list[Any]:
    """Return the prices of a million prompt and completion tokens, and their currency; null if unknown."""
    price = record.get("price")
    return [price.get(name) if isinstance(price, dict) else None for name in ("input", "output", "currency")]


def find_filled(folder: Path) -> list[Path]:
    """Return the subfolders that hold Parquet files of a stage, sorted by name, with or without a record.

    Files of an evaluation that is being asked are one level deeper, so it does not count.
    """
    return sorted({path.parent.parent for path in folder.glob("*/*/*.parquet")})


def find_files(folder: Path, record: dict[str, Any], stage: Stage) -> list[Path]:
    """Return the stage's files that the record lists, by path.

    The list decides because a folder may still contain a relation that no longer belongs to it.
    """
    return [Path(ref.path) for ref in _list_files(folder, record, stage)]


def check_rows(folder: Path, record: dict[str, Any], stage: Stage, n_rows: int) -> None:
    """Raise InputError if the stage's files have another number of rows than the record lists."""
    n_listed = sum(ref.n_rows for ref in _list_files(folder, record, stage))
    if n_rows != n_listed:
        raise InputError(f"{folder / stage.name}: {n_rows} rows where {n_listed} are listed; {REBUILD}")


def _list_files(folder: Path, record: dict[str, Any], stage: Stage) -> list[FileRef]:
    prefix = f"{folder.as_posix()}/{stage.name}/"
    refs = read_files(record, folder.as_posix())
    return sorted((ref for ref in refs if ref.path.startswith(prefix)), key=lambda ref: ref.path)


def insert_parquet(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    files: Mapping[str, tuple[Stage, Sequence[Path]]],
    *,
    remedy: str = REBUILD,
    **values: object,
) -> int:
    """Run an `insert … from storage.read_files($name)`, and return the number of inserted rows.

    `files` gives the stage and its files for each $name.

    Raises:
        InputError: if a file cannot be read or lacks a column of its stage; names the file and `remedy`.
    """
    parameters: dict[str, object] = dict(values)
    for name, (_, paths) in files.items():
        parameters[name] = [escape_pattern(path) for path in paths]
    try:
        row = connection.execute(statement, parameters).fetchone()
    except duckdb.Error:
        for stage, paths in files.values():
            _find_broken(connection.cursor(), stage, paths, remedy)
        raise
    return int(row[0]) if row else 0


def _find_broken(
    connection: duckdb.DuckDBPyConnection, stage: Stage, paths: Sequence[Path], remedy: str
) -> None:
    """Read all columns of each file separately, and raise InputError for the first file that fails."""
    # A count would read only the headers of the columns, not their values.
    values = ", ".join(stage.names)
    for path in paths:
        try:
            connection.execute(
                f"select bit_xor(hash({values})) from storage.read_files($path)",
                {"path": [escape_pattern(path)]},
            ).fetchall()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{path}: cannot be read as {stage.name} ({reason}); {remedy}") from error
