"""A stage as a Prefect task. The cache of `stage_files` keeps the files, so Prefect caches no result."""

import time
from collections.abc import Callable

from prefect import get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from flows.support.configurations import name_artifact
from flows.support.retries import RETRIES
from storage.files import FileRef
from tasks.edition.edition import Edition
from tasks.edition.stage_files import StageFiles, provide_files, validate_files

RunStage = Callable[..., StageFiles]
"""Takes the edition, the name of a stage and the stages before, and returns the files of the stage."""


def run_stage(edition: Edition, name: str, *before: StageFiles) -> StageFiles:
    """Run the task of a stage, and return its files.

    Args:
        before: the stages that it is built from.

    Raises:
        InputError: rows cannot be built, or do not meet the expectations of the stage.
    """
    return build_stage.with_options(name=name)(edition, name, before)


def list_stage_files(*stages: StageFiles) -> list[FileRef]:
    """Return the files of several stages, in order."""
    return [ref for stage in stages for ref in stage.files.values()]


@task(cache_policy=NO_CACHE, **RETRIES)
def build_stage(edition: Edition, name: str, before: tuple[StageFiles, ...]) -> StageFiles:
    """Build the missing files of one stage, and validate the stage as a whole."""
    started = time.monotonic()
    stage = provide_files(edition, name, *before)
    built_at = time.monotonic()
    # Files of earlier runs are validated too, because a run that failed here left its files behind.
    report = validate_files(edition, stage)
    create_markdown_artifact(
        report.render_markdown(),
        key=name_artifact(f"quality-{name}"),
        description=f"Data quality of stage {name} of {edition.edition_id}.",
    )
    get_run_logger().info(
        "%s: %d of %d relations made in %.1f s, validated in %.1f s",
        name,
        stage.n_built,
        len(stage.files),
        built_at - started,
        time.monotonic() - built_at,
    )
    return stage
