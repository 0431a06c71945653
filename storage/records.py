"""Records: the JSON files that complete an edition or an evaluation and name its files with their checksums.

A record is written last and read first. What is hashed holds no time of day.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from primitives.errors import InputError
from storage.files import FileRef
from storage.layout import edition_folder, manifest_file


class RecordError(InputError):
    """A record is there and cannot be used.

    Attributes:
        reason: what is wrong with its content.
    """

    def __init__(self, path: Path, reason: object) -> None:
        """Name the file and the reason."""
        super().__init__(f"{path} cannot be used as a record ({reason}); delete it and run again")
        self.reason = reason


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the record in a file, or null if there is no such file.

    Raises:
        RecordError: if the file does not hold a JSON object.
    """
    try:
        return parse_record(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RecordError(path, error) from None


def parse_record(content: bytes) -> dict[str, Any]:
    """Return the record that these bytes hold.

    Raises:
        ValueError: if they are not a JSON object.
    """
    record = json.loads(content.decode("utf-8"))
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    return record


def read_files(record: Mapping[str, Any], folder: str) -> list[FileRef]:
    """Return the files that a record lists, by their paths under the root.

    Args:
        folder: the folder of the record, relative to the root.

    Raises:
        ValueError: if a file lies outside the folder, or the list is not as `list_files` writes it.
    """
    try:
        files = {str(path): (entry["rows"], entry["sha256"]) for path, entry in record["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its list of files cannot be read ({error!r})") from None
    if outside := [path for path in files if ".." in path.split("/")]:
        raise ValueError(f"it lists a file outside its folder: {outside[0]}")
    return [FileRef(path=f"{folder}/{path}", n_rows=n, sha256=sha256) for path, (n, sha256) in files.items()]


def list_files(refs: Sequence[FileRef], folder: str) -> dict[str, dict[str, Any]]:
    """Return path within the folder -> rows and checksum, sorted by path: the `files` of a record."""
    return {
        ref.path.removeprefix(f"{folder}/"): {"rows": ref.n_rows, "sha256": ref.sha256}
        for ref in sorted(refs, key=lambda ref: ref.path)
    }


def read_manifest(root: Path, edition_id: str) -> dict[str, Any]:
    """Return the manifest of a complete edition.

    Raises:
        InputError: if there is no such edition, or its manifest cannot be read.
    """
    path = root / manifest_file(edition_id)
    try:
        manifest = read_record(path)
    except RecordError as error:
        raise InputError(
            f"{path} is not a manifest ({error.reason}); delete it and run `pretexeval build`"
        ) from None
    if manifest is None:
        raise InputError(f"edition {edition_id!r} is not complete: {path} is missing; run `pretexeval build`")
    return manifest


def read_manifest_files(root: Path, edition_id: str, stage: str | None = None) -> dict[str, FileRef]:
    """Return path -> file of a complete edition, of one stage or of all; empty if it is not complete.

    Raises:
        InputError: if its manifest cannot be read.
    """
    path = root / manifest_file(edition_id)
    if not path.exists():
        return {}
    folder, manifest = edition_folder(edition_id), read_manifest(root, edition_id)
    try:
        refs = read_files(manifest, folder)
    except ValueError as error:
        raise InputError(
            f"{path} is not a manifest ({error}); delete it and run `pretexeval build`"
        ) from None
    prefix = f"{folder}/{stage}/" if stage else f"{folder}/"
    return {ref.path: ref for ref in refs if ref.path.startswith(prefix)}
