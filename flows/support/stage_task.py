"""The stages of an edition as Prefect tasks, whose results Prefect caches.

A result is a list of references to files. A task is cached only as long as every file of its result is there
and has its checksum; otherwise it runs again. The cache belongs to one host and may be deleted at any time.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import polars as pl
from prefect import get_run_logger, task
from prefect.utilities.annotations import quote
from pydantic import BaseModel, model_validator

from flows.support.runs import RETRIES, complete_with
from pretexeval.storage.files import FileRef
from pretexeval.storage.layout import TASKS_FOLDER
from tasks.edition.edition import Edition
from tasks.edition.stage_files import (
    StageFiles,
    check_files,
    group_relations,
    key_check,
    key_files,
    place_files,
    provide_files,
    record_check,
)
from tasks.quality.validation import Report

RunStage = Callable[..., StageFiles]
"""Takes the edition, the name of a stage and the stages before, and returns the files of the stage."""
# The time for which the server keeps runs (commands/deploy/local.py).
RESULTS_KEPT_S = 90 * 24 * 3600.0
# The folder of the results is set for each run, because it depends on the data folder.
CACHED: dict[str, Any] = {
    "persist_result": True,
    "result_serializer": "json",
    "cache_result_in_memory": False,
    **RETRIES,
}
REUSED = "the files of the complete edition are reused"


class CachedFile(BaseModel):
    """A file in the result of a task. Reading a result whose file was lost or changed raises an error."""

    root: str
    """The absolute data folder."""
    file: FileRef

    @model_validator(mode="after")
    def _require_intact(self) -> Self:
        if not self.file.is_intact(Path(self.root)):
            raise ValueError(f"{self.file.path} was lost or changed")
        return self


def run_stage(reports: list[str], edition: Edition, name: str, *before: StageFiles) -> StageFiles:
    """Build the missing files of a stage, validate the stage as a whole, and return its files.

    Args:
        reports: gets the report of its data quality.
        before: the stages that it is built from.

    Raises:
        InputError: rows cannot be built, or do not meet the expectations of the stage.
    """
    started = time.monotonic()
    stage = provide_stage(edition, name, *before)
    built_at = time.monotonic()
    storage = edition.root.absolute() / TASKS_FOLDER
    check = check_stage.with_options(name=f"check-{name}", result_storage=storage)
    whole: Any = quote(edition)
    report = record_check(edition, stage, check(whole, stage))
    reports.append(report.render_markdown())
    get_run_logger().info(
        "%s: %s in %.1f s, validated in %.1f s",
        *(name, "reused" if stage.is_reused else "built", built_at - started, time.monotonic() - built_at),
    )
    return stage


def provide_stage(
    edition: Edition, name: str, *before: StageFiles, rows: Mapping[str, pl.DataFrame] | None = None
) -> StageFiles:
    """Build the missing files of a stage and return its files.

    Args:
        before: the stages that it is built from.
        rows: name of a piece -> the rows that its recipe would build, if they are known already.

    Raises:
        InputError: rows cannot be built.
    """
    # Prefect does not visit every text of the pool of an edition in quotes.
    storage, refs, is_reused = edition.root.absolute() / TASKS_FOLDER, dict[str, FileRef](), True
    build = build_files.with_options(name=name, result_storage=storage)
    for relations in group_relations(edition):
        state = build(quote(edition), name, relations, before, rows, return_state=True)
        refs |= {piece: found.file for piece, found in state.result().items()}
        is_reused &= state.name == "Cached" or state.message == REUSED
    return replace(place_files(edition, name, refs), is_reused=is_reused)


def remove_old_results(root: Path) -> None:
    """Remove what Prefect stored before the oldest run that its server keeps: results of stages, and errors.

    If a result of a stage is needed again, the task finds the files of the stage and stores it again.
    """
    oldest = time.time() - RESULTS_KEPT_S
    for path in (root / TASKS_FOLDER).glob("*"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def _key_files(_: object, parameters: dict[str, Any]) -> str:
    return key_files(parameters["edition"], parameters["name"], parameters["relations"], parameters["before"])


@task(task_run_name="{name}: {relations[0]}", cache_key_fn=_key_files, **CACHED)
def build_files(
    edition: Edition,
    name: str,
    relations: tuple[str, ...],
    before: tuple[StageFiles, ...],
    rows: Mapping[str, pl.DataFrame] | None,
) -> dict[str, CachedFile]:
    """Build the files of one stage of some relations; return name of a piece -> file.

    The state of the run has the message REUSED if the files of a complete edition are reused. Prefect itself
    marks the state of a run whose result was in its cache.
    """
    stage = provide_files(edition, name, *before, relations=relations, rows=rows)
    root = str(edition.root.absolute())
    files = {piece: CachedFile(root=root, file=ref) for piece, ref in stage.files.items()}
    return complete_with(files, REUSED) if stage.is_reused else files


@task(
    task_run_name="check-{stage.stage.name}",
    cache_key_fn=lambda _, given: key_check(given["stage"]),
    **CACHED,
)
def check_stage(edition: Edition, stage: StageFiles) -> Report:
    """Validate one stage as a whole."""
    return check_files(edition, stage)
