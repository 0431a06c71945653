"""Turns a recipe into a cached Prefect task: one task per stage, files reused relation by relation.

A stage's result is a small reference. Prefect keeps it under the stage's key; reading it checks every
file's bytes, and a record whose files are gone or changed counts as missing, so they are made again.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from prefect import get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from pydantic import BaseModel, ValidationError, model_validator

from primitives.errors import InputError
from primitives.hashing import hash_json
from storage.files import FileRef, place_file, read_stage_files, write_json, write_stage_file
from tasks.edition.edition import Edition
from tasks.edition.recipes import RECIPES, Recipe
from tasks.quality.validation import require_valid, validate_stage


class StageResult(BaseModel):
    """The files of a stage, by relation; valid only while they hold the bytes that they were made with."""

    root: Path
    stage: str
    files: dict[str, FileRef]

    @model_validator(mode="after")
    def _files_are_intact(self) -> "StageResult":
        for ref in self.files.values():
            if not ref.is_intact(self.root):
                raise ValueError(f"{ref.path} is missing or was changed")
        return self

    def read(self) -> pl.DataFrame:
        """All rows of the stage, relation after relation."""
        return read_stage_files(self.root, list(self.files.values()))


Before = Mapping[str, StageResult]


def run_stage(edition: Edition, name: str, *before: StageResult) -> StageResult:
    """The stage's files, made where they are not there yet; ``before``: the stages it is made from."""
    recipe = RECIPES[name]
    given = {result.stage: result for result in before}
    inputs = {stage.name: given[stage.name] for stage in recipe.inputs if stage.name in given}
    keys = {
        relation: recipe.key_file(edition, relation, [each.files[relation] for each in inputs.values()])
        for relation in edition.base.relations
    }
    cached = build_stage.with_options(name=name, result_storage=edition.root.absolute() / "cache" / "results")
    return cached(hash_json([edition.edition_id, keys], digits=32), keys, edition, recipe, inputs)


def list_files_of(*results: StageResult) -> list[FileRef]:
    """The files of several stages, in order."""
    return [ref for result in results for ref in result.files.values()]


def _use_key(_: object, parameters: dict[str, Any]) -> str:
    return str(parameters["key"])


@task(persist_result=True, result_serializer="json", cache_key_fn=_use_key)
def build_stage(
    key: str, keys: dict[str, str], edition: Edition, recipe: Recipe, before: Before
) -> StageResult:
    """Make the missing files of one stage, and validate the stage as a whole."""
    started = time.monotonic()
    provided = {
        relation: _provide_file(edition, recipe, relation, file_key, before)
        for relation, file_key in keys.items()
    }
    files = {relation: ref for relation, (ref, _) in provided.items()}
    n_made = sum(is_made for _, is_made in provided.values())
    result = StageResult(root=edition.root.absolute(), stage=recipe.stage.name, files=files)
    made = time.monotonic()
    # Files that were there already are validated as well: a run that failed here left them behind.
    report = validate_stage(recipe.stage, result.read(), edition.edition_id)
    create_markdown_artifact(report.render_markdown(), key=f"quality-{recipe.stage.name}")
    require_valid(report)
    get_run_logger().info(
        "%s: %d of %d relations made in %.1f s, validated in %.1f s",
        recipe.stage.name,
        n_made,
        len(files),
        made - started,
        time.monotonic() - made,
    )
    return result


def _provide_file(
    edition: Edition, recipe: Recipe, relation: str, key: str, before: Before
) -> tuple[FileRef, bool]:
    """The relation's file, and whether it had to be made: the edition's own, another edition's, or new."""
    root = edition.root
    path = edition.path_of(recipe.stage.name, relation)
    promised = edition.promised.get(path)
    if promised is not None and promised.is_intact(root):
        return promised, False
    record = root / "cache" / "files" / f"{key}.json"
    kept = _read_record(record)
    if kept is not None and kept.is_intact(root):
        ref, is_made = place_file(root, kept, path), False
    else:
        is_made = True
        inputs = {stage: read_stage_files(root, [result.files[relation]]) for stage, result in before.items()}
        ref = write_stage_file(root, path, recipe.build(edition, relation, inputs), recipe.stage)
    if promised is not None and ref.sha256 != promised.sha256:
        raise InputError(
            f"{path} was lost or changed, and made again it differs from the edition's manifest, since "
            f"the code has changed: restore the file, or delete {edition.folder} to make it anew"
        )
    write_json(record, ref.model_dump())
    return ref, is_made


def _read_record(record: Path) -> FileRef | None:
    try:
        return FileRef.model_validate_json(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError, UnicodeDecodeError):
        return None
