"""build-test-set: build the samples of a frozen edition from a knowledge base."""

from datetime import datetime
from functools import partial
from pathlib import Path

from prefect import flow, get_run_logger

from flows.rephrase_samples import rephrase_samples
from flows.support.artifacts import link_edition, track_calls
from flows.support.cancellation import end_when_cancelled
from flows.support.configurations import PlannedConfig, find_config
from flows.support.dispatch import require_subflow
from flows.support.keys import open_store
from flows.support.outcomes import complete_with
from flows.support.retries import read_time_limit
from flows.support.run_names import name_edition_run
from flows.support.stage_task import RunStage, list_stage_files, run_stage
from flows.support.summary import describe_stages
from pretexeval.storage.store import Store
from pretexeval.storage.withdrawals import require_published
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition, list_left_out
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import require_wordings_of_pool
from tasks.edition.stage_files import StageFiles
from tasks.edition.wrong_texts import warn_of_wrong_texts


@flow(
    name="build-test-set",
    flow_run_name=name_edition_run("build"),
    timeout_seconds=read_time_limit(),
)
@end_when_cancelled
def build_test_set(
    config_file: Path | None = None, moment: datetime | None = None, config: PlannedConfig = None
) -> str:
    """Build the edition and return its name. Files that exist already are reused.

    Args:
        config_file: the name or the file of a configuration, for example "configs/quickstart.toml".
        moment: a time in the period (day, week or month) of a scheduled edition; without it, the edition that
            the file describes is built.
        config: what the run was given that starts this one.

    Raises:
        InputError: the configuration is not valid; the edition was withdrawn, or the knowledge base or the
            pool cannot be used, which is checked before anything is written; or a stage does not meet its
            expectations, and the edition is not completed.
    """
    config = find_config(config, config_file, moment)
    require_wordings_of_pool(plan_edition(config))
    store = open_store(config.storage)
    edition = fetch_edition(config, store)
    require_published(edition.root, edition.edition_id)
    build = track_calls(run_stage, f"stages of {edition.edition_id}", len(edition.stages))
    built = build_sample_stages(edition, build, store) if edition.has_triplets else []
    if edition.has_questions:
        built.append(build(edition, QUESTIONS.name, *built[:1]))
    read_triplets = partial(built[0].read, edition.root) if edition.has_triplets else None
    complete_edition(edition, list_stage_files(*built), list_left_out(edition, read_triplets))
    if warning := warn_of_wrong_texts(edition.root, edition.edition_id):
        get_run_logger().warning(warning)
    store.push_edition(edition.edition_id)
    link_edition(config, edition.edition_id)
    return complete_with(edition.edition_id, describe_stages(edition.edition_id, built))


def build_sample_stages(edition: Edition, build: RunStage, store: Store) -> list[StageFiles]:
    """Build every stage from the triplets to the samples, and return them in order."""
    triplets = build(edition, TRIPLETS.name)
    variants = build(edition, VARIANTS.name, triplets)
    statements = build(edition, STATEMENTS.name, triplets, variants)
    attempts = []
    if edition.writers and not edition.has_model_texts():
        require_subflow(rephrase_samples, {"config": edition.config}, edition.config.writer_pool)
        for model_id in {writer.model_id for writer in edition.writers.values()}:
            store.sync_responses(model_id)
    if edition.rephraser:
        attempts.append(build(edition, ATTEMPTS.name, triplets, statements))
    samples = build(edition, SAMPLES.name, triplets, statements, *attempts)
    return [triplets, variants, statements, *attempts, samples]
