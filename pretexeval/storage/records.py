"""Records: the JSON files that complete an edition or an evaluation and list its files with their checksums.

A record is written last and read first. It holds a checksum of its own content, so that a changed record is
noticed. A damaged record is set aside: it is reported once, and from then on it is missing. A record that
lists files also holds the version of its keys and of the columns of its files. A record of another version
counts as missing, and `explain_missing` says so. Stored answers, which every version reads, have no record.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.primitives.errors import InputError, suggest
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import FileRef, read_stage_files, write_json
from pretexeval.storage.layout import EDITIONS_FOLDER, MANIFEST, edition_folder, manifest_file
from schemas.columns import Stage

logger = logging.getLogger(__name__)


CHECKSUM = "checksum"
DAMAGED_SUFFIX = ".damaged"
VERSION = 3
"""Count it up when files of an edition or an evaluation get other columns, or a record other keys."""


class OtherVersion(ValueError):
    """A record was written by another version of this program.

    Attributes:
        is_newer: whether that version is newer than this one.
    """

    def __init__(self, version: object = None) -> None:
        """Make an error from the version in the record."""
        super().__init__("another version of pretexeval wrote it")
        self.is_newer = isinstance(version, int) and version > VERSION


class RecordError(InputError):
    """A record exists but cannot be used.

    Attributes:
        reason: what is wrong with its content.
    """

    def __init__(self, path: Path, reason: object) -> None:
        """Make an error whose message names the file and the reason, and says what to do."""
        message = f"{path} cannot be used as a record ({reason}); delete it and run again"
        if isinstance(reason, OtherVersion):
            message = (
                f"{path.parent} was written by another version of pretexeval: run `pretexeval run CONFIG`, "
                "which asks no stored prompt twice, or remove the folder"
            )
        super().__init__(message)
        self.reason = reason


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record atomically, with a checksum of its content as the last key."""
    versioned = {"version": VERSION, **record} if "files" in record else record
    # What JSON makes of the values is hashed, because that is what a reader sees.
    content = json.loads(json.dumps(versioned, ensure_ascii=False))
    write_json(path, {**versioned, CHECKSUM: hash_json(content)})


def read_record(path: Path, **expected: object) -> dict[str, Any] | None:
    """Return the record in a file without checksum and version, or None if there is no such file.

    Args:
        expected: values that the record must have, such as the ids in its path.

    Raises:
        RecordError: the file does not hold a record, its content was changed, or it is of another folder.
    """
    try:
        return parse_record(path.read_bytes(), **expected)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise RecordError(path, error) from None


def parse_record(content: bytes, **expected: object) -> dict[str, Any]:
    """Return the record that these bytes hold, without checksum and version.

    Raises:
        OtherVersion: another version of this program wrote them.
        ValueError: they are not a JSON object, its checksum says that it was changed, it lists a file outside
            its folder, or it has other values than those expected.
    """
    record = json.loads(content.decode("utf-8"))
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    if "files" in record and record.get("version") != VERSION:
        raise OtherVersion(record.get("version"))
    if record.pop(CHECKSUM, None) != hash_json(record):
        raise ValueError("its content was changed after it was written")
    if record.pop("version", None):
        read_files(record, "")
    for name, value in expected.items():
        if record.get(name) != value:
            raise ValueError(f"it has the {name} {record.get(name)!r} and not {value!r}")
    return record


def read_reports(path: Path) -> list[dict[str, Any]]:
    """Return the reports of validations in a record; none if there is no usable record."""
    try:
        return list((read_record(path) or {}).get("checks", ()))
    # The functions that need the record report that it is damaged.
    except ValueError:
        return []


def find_record(path: Path, remedy: str, **expected: object) -> dict[str, Any] | None:
    """Return the record in a file as `read_record` does; set a damaged one aside and return None.

    A record of another version counts as missing, and stays.

    Args:
        remedy: what writes the record again, for the message.
    """
    try:
        return read_record(path, **expected)
    except RecordError as error:
        if not isinstance(error.reason, OtherVersion):
            set_aside(path, error.reason, remedy)
        return None


def explain_missing(path: Path, consequence: str) -> str:
    """Return a sentence about a record that `find_record` did not find.

    Args:
        consequence: what follows if there is no record, and what to do.
    """
    # A damaged record has another name by now.
    return str(RecordError(path, OtherVersion())) if path.is_file() else f"{path} is missing, {consequence}"


def set_aside(path: Path, reason: object, remedy: str) -> None:
    """Rename a damaged record to `<name>.damaged`, and name it; from then on it is missing."""
    aside = path.with_name(path.name + DAMAGED_SUFFIX)
    logger.warning("%s is damaged (%s) and was renamed to %s; %s", path, reason, aside.name, remedy)
    path.replace(aside)


def is_file_recorded(root: Path, path: str, record: str) -> bool:
    """Return whether the record of a single file is intact, and the file is as the record says.

    Args:
        record: path of a record with the key `file`, under the root.
    """
    try:
        content = read_record(root / record) or {}
        ref = FileRef.model_validate(content.get("file"))
    except ValueError:
        return False
    return ref.path == path and ref.is_intact(root)


def read_files(record: Mapping[str, Any], folder: str) -> list[FileRef]:
    """Return the files that a record lists, by their paths under the root.

    Args:
        folder: the folder of the record, relative to the root.

    Raises:
        ValueError: a file lies outside the folder, or the list is not as `list_files` writes it.
    """
    try:
        files = {str(path): (entry["rows"], entry["sha256"]) for path, entry in record["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its list of files cannot be read ({error!r})") from None
    for path, (n_rows, sha256) in files.items():
        if not isinstance(n_rows, int) or n_rows < 0 or not isinstance(sha256, str):
            raise ValueError(f"it has no number of rows or no checksum of {path}")
    if outside := [path for path in files if ".." in path.split("/")]:
        raise ValueError(f"it lists a file outside its folder: {outside[0]}")
    return [FileRef(path=f"{folder}/{path}", n_rows=n, sha256=sha256) for path, (n, sha256) in files.items()]


def parse_listed_files(folder: str, content: bytes, record: str) -> list[FileRef]:
    """Return the files that a record on a host or in the shared storage lists, by their paths.

    Args:
        content: the bytes of the record.

    Raises:
        InputError: the bytes are not a record, or its list of files cannot be read.
    """
    try:
        return read_files(parse_record(content), folder)
    except ValueError:
        raise InputError(
            f"{folder}/{record}: cannot be read; delete it here and in the shared storage, and run again"
        ) from None


def list_files(refs: Sequence[FileRef], folder: str) -> dict[str, dict[str, Any]]:
    """Return path within the folder -> rows and checksum, sorted by path: the `files` of a record."""
    return {
        ref.path.removeprefix(f"{folder}/"): {"rows": ref.n_rows, "sha256": ref.sha256}
        for ref in sorted(refs, key=lambda ref: ref.path)
    }


REMEDY = (
    "`pretexeval build` with the configuration of this edition writes it again; until then, the edition and "
    "its evaluations are left out"
)


def key_content(stage: str, checksums: Iterable[str]) -> str:
    """Return a key of the rows of a stage, by which reports of their validation are found."""
    return hash_json([stage, sorted(checksums)], digits=32)


def find_manifest(root: Path, edition_id: str) -> dict[str, Any] | None:
    """Return the manifest of an edition as `find_record` does."""
    return find_record(root / manifest_file(edition_id), REMEDY, edition_id=edition_id)


def read_manifest(root: Path, edition_id: str) -> dict[str, Any]:
    """Return the manifest of a complete edition.

    Raises:
        InputError: there is no such edition, or its manifest is missing or damaged.
    """
    manifest = find_manifest(root, edition_id)
    if manifest is None:
        folder = root / EDITIONS_FOLDER
        known = sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))
        if known and not (root / edition_folder(edition_id)).exists():
            raise InputError(
                f"{folder} has no edition {edition_id!r}{suggest(edition_id, known)}; it contains: "
                f"{', '.join(known)}"
            )
        raise InputError(
            explain_missing(
                root / manifest_file(edition_id),
                f"so edition {edition_id!r} is not complete; run `pretexeval build`",
            )
        )
    return manifest


def require_intact(root: Path, edition_id: str) -> None:
    """Check that an edition is complete, and that every file has the checksum that its manifest lists.

    Raises:
        InputError: it is not complete, or a file was lost or changed.
    """
    for ref in read_files(read_manifest(root, edition_id), edition_folder(edition_id)):
        if not ref.is_intact(root):
            raise InputError(
                f"{root / ref.path} was lost or changed: it differs from the checksum in its manifest.json; "
                "run `pretexeval build` to build it again"
            )


def read_manifest_files(root: Path, edition_id: str, stage: str | None = None) -> dict[str, FileRef]:
    """Return path -> file of a complete edition, of one stage or of all; empty if it is not complete."""
    manifest = find_manifest(root, edition_id)
    if manifest is None:
        return {}
    folder = edition_folder(edition_id)
    prefix = f"{folder}/{stage}/" if stage else f"{folder}/"
    return {ref.path: ref for ref in read_files(manifest, folder) if ref.path.startswith(prefix)}


def read_stage(root: Path, edition_id: str, stage: Stage) -> pl.DataFrame | None:
    """Return the rows of a stage of a complete edition; None if it has no files of the stage.

    Raises:
        InputError: the edition is not complete.
    """
    read_manifest(root, edition_id)
    refs = list(read_manifest_files(root, edition_id, stage.name).values())
    return read_stage_files(root, refs, stage) if refs else None
