"""The files of a stage, one per piece: taken from the cache, or built if the cache lacks them.

The cache holds one record per key, with the path and the checksum of the file that was built under that key.
A missing or damaged file is built again. A complete edition keeps the bytes that its manifest lists.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import ne
from pathlib import Path

import polars as pl

from primitives.errors import InputError
from primitives.hashing import hash_json
from primitives.process import map_in_threads
from primitives.source import hash_source
from schemas.columns import Stage
from storage.files import FileRef, link_file, read_stage_files, write_stage_file
from storage.layout import EDITIONS_FOLDER, cached_file, manifest_file, validation_record
from storage.manifests import key_content
from storage.mirror import Mirror
from storage.records import read_record, set_aside, write_record
from tasks.edition.edition import Edition
from tasks.edition.recipes import Recipe, find_recipe
from tasks.edition.validated_rows import iterate_validated
from tasks.quality import part_validation
from tasks.quality.part_validation import validate_parts
from tasks.quality.validation_report import ValidationReport, read_report, write_down

logger = logging.getLogger(__name__)

# Checksums of different files differ in 60 of 64 digits; so few different digits are damage of the manifest.
MAX_FLIPPED = 8


@dataclass(frozen=True)
class StageFiles:
    """The files of one stage of an edition."""

    stage: Stage
    files: dict[str, FileRef]
    """Name of a piece -> file. A piece is a relation, or a part of a long one."""
    n_built: int
    """How many of the files were built now; the others existed already."""

    def read(self, root: Path, piece: str) -> pl.DataFrame:
        """Return the rows of one piece."""
        return read_stage_files(root, [self.files[piece]], self.stage)

    def read_all(self, root: Path) -> pl.DataFrame:
        """Return all rows of the stage, piece after piece."""
        return read_stage_files(root, list(self.files.values()), self.stage)


def provide_files(edition: Edition, name: str, *before: StageFiles) -> StageFiles:
    """Return the files of a stage; build those that do not exist yet.

    Args:
        before: the stages that it is built from.

    Raises:
        InputError: the rows of a relation cannot be built, or a lost file of a complete edition was built
            again with other bytes.
    """
    recipe = find_recipe(edition, name)
    inputs = _select_inputs(recipe, before)
    listed = edition.read_files()
    # Keys are computed in one thread, because two threads of Python 3.11 cannot parse source code at once.
    keys = {piece: _key_file(edition, recipe, piece, inputs) for piece in edition.pieces}
    files: dict[str, FileRef] = {}

    def keep(piece: str, ref: FileRef) -> None:
        _require_same_bytes(edition, ref, listed.get(ref.path))
        _write_record(edition.root / cached_file(keys[piece]), ref)
        files[piece] = ref

    def build(piece: str) -> FileRef:
        frames = {stage: given.read(edition.root, piece) for stage, given in inputs.items()}
        rows = recipe.build(edition, piece, frames)
        return write_stage_file(edition.root, edition.path_of(name, piece), rows, recipe.stage)

    for piece, key in keys.items():
        path = edition.path_of(name, piece)
        ref = _find_file(edition.root, key, path, listed.get(path))
        if ref is not None:
            keep(piece, ref)
    missing = [piece for piece in edition.pieces if piece not in files]
    for piece, ref in zip(missing, map_in_threads(build, missing), strict=True):
        keep(piece, ref)
    edition.forget_facts()
    return StageFiles(recipe.stage, {piece: files[piece] for piece in edition.pieces}, len(missing))


def store_files(
    edition: Edition, name: str, frames: Mapping[str, pl.DataFrame], *before: StageFiles, mirror: Mirror
) -> None:
    """Write rows that were built without the recipe, under the key that the recipe gives them.

    The files are sent to the shared storage too, because another host may build the edition. Intact files of
    a complete edition are kept.

    Args:
        frames: name of a piece -> the same rows that the recipe would build.
    """
    recipe = find_recipe(edition, name)
    inputs = _select_inputs(recipe, before)
    listed = edition.read_files()
    for piece, frame in frames.items():
        complete = listed.get(edition.path_of(name, piece))
        if complete is not None and complete.is_intact(edition.root):
            continue
        record = cached_file(_key_file(edition, recipe, piece, inputs))
        ref = write_stage_file(edition.root, edition.path_of(name, piece), frame, recipe.stage)
        _write_record(edition.root / record, ref)
        mirror.send(ref.path)
        mirror.send(record)


def fetch_stored_files(edition: Edition, name: str, *before: StageFiles, mirror: Mirror) -> None:
    """Fetch the files that `store_files` sent from another host; keep those that exist here."""
    recipe = find_recipe(edition, name)
    inputs = _select_inputs(recipe, before)
    for piece in edition.pieces:
        record = cached_file(_key_file(edition, recipe, piece, inputs))
        if not (edition.root / record).is_file() and mirror.fetch(record):
            ref = _read_record(edition.root / record)
            if ref is not None and not ref.is_intact(edition.root):
                mirror.fetch(ref.path, ref.sha256)


def validate_files(edition: Edition, stage: StageFiles) -> ValidationReport:
    """Validate a stage, and return the report. The reports of earlier successes are cached.

    Raises:
        StageInvalid: an expectation is not met; the error names it and the first rows that break it.
    """
    checksums = [ref.sha256 for ref in stage.files.values()]
    key = hash_json([stage.stage.name, checksums, hash_source(part_validation.__name__)], digits=32)
    path = edition.root / validation_record(key)
    try:
        report = replace(read_report(read_record(path)), context=edition.edition_id)
    # The report is missing or damaged.
    except ValueError:
        parts = iterate_validated(edition, stage.files, partial(stage.read, edition.root))
        checked = validate_parts(stage.stage, parts, edition.edition_id)
        # Demonstrations are repeated in several parts, but they are counted once.
        n_rows = sum(ref.n_rows for ref in stage.files.values())
        report = replace(checked, n_rows=n_rows)
        found = {"key": key, "content": key_content(stage.stage.name, checksums)}
        write_record(path, write_down(report) | found)
    return report


def _select_inputs(recipe: Recipe, before: tuple[StageFiles, ...]) -> dict[str, StageFiles]:
    given = {files.stage.name: files for files in before}
    return {stage.name: given[stage.name] for stage in recipe.inputs if stage.name in given}


def _key_file(edition: Edition, recipe: Recipe, piece: str, inputs: Mapping[str, StageFiles]) -> str:
    return recipe.key_file(edition, piece, [files.files[piece] for files in inputs.values()])


def _find_file(root: Path, key: str, path: str, listed: FileRef | None) -> FileRef | None:
    """Return the file that the manifest lists, or link one of the same key from the cache; null if none."""
    if listed is not None:
        if listed.is_intact(root):
            return listed
        state = "differs from its checksum in the manifest" if (root / path).exists() else "was lost"
        logger.warning("%s %s; it is built again", root / path, state)
    cached = _read_record(root / cached_file(key))
    return link_file(root, cached, path) if cached is not None and cached.is_intact(root) else None


def _require_same_bytes(edition: Edition, ref: FileRef, listed: FileRef | None) -> None:
    if listed is None or ref.sha256 == listed.sha256:
        return
    if sum(map(ne, ref.sha256, listed.sha256)) <= MAX_FLIPPED:
        manifest = edition.root / manifest_file(edition.edition_id)
        set_aside(manifest, f"a digit of the checksum of {ref.path} was changed", "it is written again")
    else:
        raise InputError(
            f"{ref.path} was lost or changed, and the file that was built in its place differs from the "
            "edition's manifest, because the code has changed: restore the file, or delete "
            f"{edition.folder} to build the edition again"
        )


def _write_record(path: Path, ref: FileRef) -> None:
    if _read_record(path) != ref:
        write_record(path, ref.model_dump())


def _read_record(path: Path) -> FileRef | None:
    """Return the file of a record; null if there is none, or if it names a file outside the editions."""
    try:
        ref = FileRef.model_validate(read_record(path))
    # A missing record is no FileRef either; a damaged one is written again when the file is.
    except ValueError:
        return None
    # A record may come from a shared bucket.
    folder, *names = ref.path.split("/")
    return ref if folder == EDITIONS_FOLDER and ".." not in names else None
