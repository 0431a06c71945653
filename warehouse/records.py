"""Read the records of a root and the files that they list, with errors that name the file."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.records import DAMAGED_SUFFIX, explain_missing, find_record, read_files
from schemas.columns import Stage

REBUILD = "run `pretexeval run CONFIG` to rebuild it"
RESTORE = f"restore the file from a backup, or {REBUILD}"


class RecordMissing(InputError):
    """A folder cannot be loaded, because a record is missing that a run writes again."""


def require_record(path: Path, remedy: str = REBUILD, **expected: object) -> dict[str, Any]:
    """Return the record in a file; set a damaged or edited one aside.

    Args:
        expected: values that the record must have, such as the ids in its path. A record with other values
            stays where it is, because its folder may have got another name.

    Raises:
        RecordMissing: the record was never written.
        InputError: the record was set aside, now or earlier, or it has other values.
    """
    record = find_record(path, remedy)
    if record is None:
        aside = path.with_name(path.name + DAMAGED_SUFFIX)
        if aside.is_file() and not path.is_file():
            raise InputError(f"{path} was damaged or edited, and is now {aside.name}; {remedy}")
        raise RecordMissing(explain_missing(path, f"so {path.parent} is left out; {remedy}"))
    for name, value in expected.items():
        if record.get(name) != value:
            raise InputError(
                f"{path} has the {name} {record.get(name)!r} and not {value!r}: a folder was renamed or "
                "exchanged; give it its own name again"
            )
    return record


def check_files(folder: Path, record: Mapping[str, Any], name: str, unsound: Mapping[Path, str]) -> None:
    """Check every file that the record of a folder lists, also those that are not loaded.

    Args:
        name: of the record.
        unsound: files whose rows are unsound, and why.

    Raises:
        InputError: a file is missing or unsound, or it has other bytes or another number of rows than
            the record lists.
    """
    for ref in read_files(record, folder.as_posix()):
        path = Path(ref.path)
        if not path.is_file():
            raise InputError(f"{path}: listed in {name}, but missing; {RESTORE}")
        if checksum_file(path) != ref.sha256:
            raise InputError(
                f"{path}: differs from the checksum in {name}, so one of them was changed; {RESTORE}"
            )
        if path in unsound:
            raise InputError(f"{path}: {unsound[path]}; {REBUILD}")
        n_rows = _count_rows(path)
        if n_rows != ref.n_rows:
            raise InputError(f"{path}: {n_rows} rows where {ref.n_rows} are listed; {REBUILD}")


def _count_rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]}); {REBUILD}") from error


def list_stage_files(folder: Path, record: Mapping[str, Any], stage: Stage) -> list[Path]:
    """Return the stage's files that the record lists, by path.

    The list decides because a folder may still contain a relation that no longer belongs to it.
    """
    prefix = f"{folder.as_posix()}/{stage.name}/"
    return sorted(
        Path(ref.path) for ref in read_files(record, folder.as_posix()) if ref.path.startswith(prefix)
    )


def explain_unreadable(path: Path, stage: Stage) -> str | None:
    """Return why a file cannot be read as a stage, with the checksums of its pages; None if it can."""
    try:
        options = {"page_checksum_verification": True, "partitioning": None}
        pq.read_table(path, columns=stage.names, **options).cast(stage.schema)
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        return f"cannot be read as {stage.name} ({str(error).splitlines()[0]})"
    return None


def parse_time(path: Path, record: Mapping[str, Any], name: str) -> datetime | None:
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


def read_price(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with the prices of a million prompt and completion tokens."""
    price = record.get("price")
    return {f"price_{name}": value for name, value in price.items()} if isinstance(price, dict) else {}
