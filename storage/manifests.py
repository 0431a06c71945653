"""Manifests: the records that complete editions. Readers get a manifest only from here.

A manifest has no time of day, so that every machine writes the same bytes.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from primitives.errors import InputError
from primitives.hashing import hash_json
from storage.files import FileRef
from storage.layout import edition_folder, manifest_file
from storage.records import explain_missing, find_record, read_files

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
    read_manifest(root, edition_id)
    for path, ref in read_manifest_files(root, edition_id).items():
        if not ref.is_intact(root):
            raise InputError(
                f"{root / path} was lost or changed: it differs from the checksum in its manifest.json; "
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
