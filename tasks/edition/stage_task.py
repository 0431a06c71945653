"""A stage as a Prefect task. The files come from the cache of `stage_files`; the task keeps no result."""

import time

from prefect import get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from storage.files import FileRef
from tasks.edition.edition import Edition
from tasks.edition.stage_files import StageFiles, check_files, provide_files


def run_stage(edition: Edition, name: str, *before: StageFiles) -> StageFiles:
    """Run the task of a stage, and return its files.

    Args:
        before: the stages that it is made from.

    Raises:
        InputError: if rows cannot be made or do not meet the stage's expectations.
    """
    return build_stage.with_options(name=name)(edition, name, before)


def list_files_of(*stages: StageFiles) -> list[FileRef]:
    """Return the files of several stages, in order."""
    return [ref for stage in stages for ref in stage.files.values()]


@task(cache_policy=NO_CACHE)
def build_stage(edition: Edition, name: str, before: tuple[StageFiles, ...]) -> StageFiles:
    """Make the missing files of one stage, and validate the stage as a whole."""
    started = time.monotonic()
    stage = provide_files(edition, name, *before)
    made = time.monotonic()
    # Files that were there are validated too, because a run that failed here has left its files behind.
    report = check_files(edition, stage)
    create_markdown_artifact(report.render_markdown(), key=f"quality-{name}")
    get_run_logger().info(
        "%s: %d of %d relations made in %.1f s, validated in %.1f s",
        name,
        stage.n_made,
        len(stage.files),
        made - started,
        time.monotonic() - made,
    )
    return stage
