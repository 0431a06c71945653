"""The manifest: what completes an edition. It names every file with its checksum, and no time of day."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from primitives.errors import InputError
from storage.files import FileRef

MANIFEST = "manifest.json"


def manifest_path(root: Path, edition_id: str) -> Path:
    """Where an edition's manifest lies."""
    return root / "editions" / edition_id / MANIFEST


def read_manifest(root: Path, edition_id: str) -> dict[str, Any]:
    """The manifest of a complete edition.

    Raises:
        InputError: if there is no such edition, or its manifest cannot be read.
    """
    path = manifest_path(root, edition_id)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"edition {edition_id!r} is not complete: {path} is missing; run `pretexeval build`"
        ) from None
    except ValueError as error:
        raise InputError(
            f"{path} is not a manifest ({error}); delete it and run `pretexeval build`"
        ) from None
    return manifest


def read_manifest_files(root: Path, edition_id: str, stage: str | None = None) -> dict[str, FileRef]:
    """Path -> file reference of a complete edition, of one stage or all; empty if it is not complete."""
    if not manifest_path(root, edition_id).exists():
        return {}
    folder = f"editions/{edition_id}"
    prefix = f"{folder}/{stage}/" if stage else f"{folder}/"
    refs = read_files(read_manifest(root, edition_id), folder)
    return {ref.path: ref for ref in refs if ref.path.startswith(prefix)}


def read_files(record: Mapping[str, Any], folder: str) -> list[FileRef]:
    """The files that a record lists, as `list_files` has them; the record lies in the folder."""
    files: dict[str, dict[str, Any]] = record["files"]
    return [
        FileRef(path=f"{folder}/{path}", n_rows=entry["rows"], sha256=entry["sha256"])
        for path, entry in files.items()
    ]


def list_files(refs: Sequence[FileRef], folder: str) -> dict[str, dict[str, Any]]:
    """Path within ``folder`` -> rows and checksum, sorted by path."""
    return {
        ref.path.removeprefix(folder + "/"): {"rows": ref.n_rows, "sha256": ref.sha256}
        for ref in sorted(refs, key=lambda ref: ref.path)
    }
