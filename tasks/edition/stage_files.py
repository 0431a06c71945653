"""The files of a stage, each taken from the cache or made: one file per relation, known by its key.

The cache holds one record per key, which says where the file of that key lies and what its checksum is. A
file that is missing or damaged is made again. A complete edition keeps the bytes that its manifest names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from pydantic import TypeAdapter, ValidationError

from primitives.errors import InputError
from primitives.hashing import hash_json
from primitives.source import hash_source
from schemas.stages import Stage
from storage.files import FileRef, place_file, read_stage_files, write_json, write_stage_file
from storage.layout import cached_file, validation_record
from storage.mirror import Mirror
from tasks.edition.edition import Edition
from tasks.edition.recipes import RECIPES, Recipe
from tasks.quality import validation
from tasks.quality.validation import require_valid, validate_stage
from tasks.quality.validation_report import ValidationReport

REPORT = TypeAdapter(ValidationReport)


@dataclass(frozen=True)
class StageFiles:
    """The files of one stage of an edition."""

    stage: Stage
    files: dict[str, FileRef]
    """Relation -> file."""
    n_made: int
    """How many of them were made now; the others were there."""

    def read(self, root: Path, relation: str) -> pl.DataFrame:
        """Return the rows of one relation."""
        return read_stage_files(root, [self.files[relation]])

    def read_all(self, root: Path) -> pl.DataFrame:
        """Return all rows of the stage, relation after relation."""
        return read_stage_files(root, list(self.files.values()))


def provide_files(edition: Edition, name: str, *before: StageFiles) -> StageFiles:
    """Return the files of a stage; those that are not there yet are made.

    Args:
        before: the stages that it is made from.

    Raises:
        InputError: if a relation's rows cannot be made, or a lost file of a complete edition would be made
            with other bytes.
    """
    recipe, inputs = RECIPES[name], _select_inputs(name, before)
    promised = edition.read_files()
    files, n_made = {}, 0
    for relation in edition.base.relations:
        key = _key_file(edition, recipe, relation, inputs)
        path = edition.path_of(name, relation)
        ref = _find_file(edition.root, key, path, promised.get(path))
        if ref is None:
            frames = {stage: each.read(edition.root, relation) for stage, each in inputs.items()}
            ref = write_stage_file(edition.root, path, recipe.build(edition, relation, frames), recipe.stage)
            n_made += 1
        _require_promised(edition, ref, promised.get(path))
        _write_record(edition.root / cached_file(key), ref)
        files[relation] = ref
    return StageFiles(recipe.stage, files, n_made)


def keep_files(
    edition: Edition, name: str, frames: Mapping[str, pl.DataFrame], *before: StageFiles, mirror: Mirror
) -> None:
    """Write rows that were made outside the recipe, under the key that the recipe gives them.

    The files go to the shared storage too, because another host may build the edition. A file of a complete
    edition that is intact stays as it is.

    Args:
        frames: relation -> the rows that the recipe would make.
    """
    recipe, inputs = RECIPES[name], _select_inputs(name, before)
    promised = edition.read_files()
    for relation, frame in frames.items():
        complete = promised.get(edition.path_of(name, relation))
        if complete is not None and complete.is_intact(edition.root):
            continue
        record = cached_file(_key_file(edition, recipe, relation, inputs))
        ref = write_stage_file(edition.root, edition.path_of(name, relation), frame, recipe.stage)
        _write_record(edition.root / record, ref)
        mirror.send(ref.path)
        mirror.send(record)


def fetch_kept_files(edition: Edition, name: str, *before: StageFiles, mirror: Mirror) -> None:
    """Bring the files that `keep_files` sent from another host; those that are there stay as they are."""
    recipe, inputs = RECIPES[name], _select_inputs(name, before)
    for relation in edition.base.relations:
        record = cached_file(_key_file(edition, recipe, relation, inputs))
        if not (edition.root / record).is_file() and mirror.fetch(record):
            ref = _read_record(edition.root / record)
            if ref is not None and not ref.is_intact(edition.root):
                mirror.fetch(ref.path, ref.sha256)


def check_files(edition: Edition, stage: StageFiles) -> ValidationReport:
    """Return the validation of a stage as a whole; files that passed it before are not validated again.

    Raises:
        StageInvalid: if an expectation is not met; names the expectation and the first rows that break it.
    """
    checksums = [ref.sha256 for ref in stage.files.values()]
    key = hash_json([stage.stage.name, checksums, hash_source(validation.__name__)], digits=32)
    path = edition.root / validation_record(key)
    try:
        report = replace(REPORT.validate_json(path.read_bytes()), context=edition.edition_id)
    except (FileNotFoundError, ValidationError):
        report = validate_stage(stage.stage, stage.read_all(edition.root), edition.edition_id)
        require_valid(report)
        write_json(path, REPORT.dump_python(report, mode="json"))
    return report


def _select_inputs(name: str, before: tuple[StageFiles, ...]) -> dict[str, StageFiles]:
    given = {each.stage.name: each for each in before}
    return {stage.name: given[stage.name] for stage in RECIPES[name].inputs if stage.name in given}


def _key_file(edition: Edition, recipe: Recipe, relation: str, inputs: Mapping[str, StageFiles]) -> str:
    return recipe.key_file(edition, relation, [each.files[relation] for each in inputs.values()])


def _find_file(root: Path, key: str, path: str, promised: FileRef | None) -> FileRef | None:
    """The edition's own file, or one of the same key that was made for another edition; null if neither."""
    if promised is not None and promised.is_intact(root):
        return promised
    kept = _read_record(root / cached_file(key))
    return place_file(root, kept, path) if kept is not None and kept.is_intact(root) else None


def _require_promised(edition: Edition, ref: FileRef, promised: FileRef | None) -> None:
    if promised is not None and ref.sha256 != promised.sha256:
        raise InputError(
            f"{ref.path} was lost or changed, and the file made in its place differs from the edition's "
            f"manifest, because the code has changed: restore the file, or delete {edition.folder} to build "
            "the edition again"
        )


def _write_record(path: Path, ref: FileRef) -> None:
    if _read_record(path) != ref:
        write_json(path, ref.model_dump())


def _read_record(path: Path) -> FileRef | None:
    try:
        return FileRef.model_validate_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError, UnicodeDecodeError):
        return None
