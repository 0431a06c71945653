"""Manifests: the records that complete editions. Readers get a manifest only from here.

A manifest has no checksum and no time of day, so that every machine writes the same bytes. The name of the
edition, which contains the hash of what defines it, takes the place of the checksum.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from primitives.errors import InputError
from primitives.hashing import hash_json
from schemas.stages import TRIPLETS
from storage.files import FileRef
from storage.layout import edition_folder, manifest_file
from storage.records import find_record, read_files, set_aside

REMEDY = (
    "`pretexeval build` with the configuration of this edition writes it again; until then, the edition and "
    "its evaluations are left out"
)
# Editions that were put together by hand, such as published questions, are defined by none of these.
DEFINING = {"format", "kb", "seed"}
REPEATED = ("kb", "seed", "negatives", "pool", "methods")
"""What a manifest repeats from the configuration."""


def key_content(stage: str, checksums: Iterable[str]) -> str:
    """Return a key of the rows of a stage, by which reports of their validation are found."""
    return hash_json([stage, sorted(checksums)], digits=32)


def find_manifest(root: Path, edition_id: str) -> dict[str, Any] | None:
    """Return the manifest of an edition; null if it is missing, or damaged, in which case it is set aside."""
    path = root / manifest_file(edition_id)
    manifest = find_record(path, REMEDY)
    if manifest is None:
        return None
    try:
        check_manifest(edition_id, manifest)
    except ValueError as error:
        set_aside(path, error, REMEDY)
        return None
    return manifest


def check_manifest(edition_id: str, manifest: Mapping[str, Any]) -> None:
    """Check that a manifest is that of the edition, and that its parts agree.

    Raises:
        ValueError: it was changed, or it belongs to another edition.
    """
    if manifest.get("edition_id", edition_id) != edition_id:
        raise ValueError(f"it is the manifest of {manifest['edition_id']}")
    refs = read_files(manifest, edition_folder(edition_id))
    configuration = manifest.get("configuration")
    if not isinstance(configuration, dict) or DEFINING.isdisjoint(configuration):
        return
    name = f"{manifest.get('kb')}-{manifest.get('label')}-{hash_json(configuration, digits=8)}"
    if name != edition_id:
        raise ValueError(f"it defines the edition {name}")
    for key in REPEATED:
        if key in configuration and manifest.get(key) != configuration[key]:
            raise ValueError(
                f"its {key} is {manifest.get(key)!r}, but {configuration[key]!r} defines the edition"
            )
    n_triplets = sum(ref.n_rows for ref in refs if f"/{TRIPLETS.name}/" in ref.path)
    if manifest.get("n_pairs") != n_triplets // 2:
        raise ValueError(f"it counts {manifest.get('n_pairs')} pairs and lists {n_triplets} triplets")


def read_manifest(root: Path, edition_id: str) -> dict[str, Any]:
    """Return the manifest of a complete edition.

    Raises:
        InputError: there is no such edition, or its manifest is missing or damaged.
    """
    manifest = find_manifest(root, edition_id)
    if manifest is None:
        path = root / manifest_file(edition_id)
        raise InputError(f"edition {edition_id!r} is not complete: {path} is missing; run `pretexeval build`")
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
