"""build-test-set: build the samples of a frozen edition from a knowledge base."""

from collections.abc import Sequence
from functools import partial

from prefect import flow, get_run_logger

from flows.rephrase_samples import rephrase_samples
from flows.support.artifacts import render_links, show_page
from flows.support.cancellation import end_when_cancelled
from flows.support.dispatch import run_subflows
from flows.support.keys import open_store
from flows.support.runs import TIME_LIMIT_S, GivenConfig, complete_with
from flows.support.stage_task import RunStage, run_stage
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import edition_folder
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
    flow_run_name="build-{config.knowledge.name}-{config.edition.name}",
    timeout_seconds=TIME_LIMIT_S,
)
@end_when_cancelled
def build_test_set(config: GivenConfig) -> str:
    """Build the edition and return its name. Files that exist already are reused.

    Args:
        config: the name or the file of a configuration, for example "configs/quickstart.toml".

    Raises:
        InputError: the edition was withdrawn, or the knowledge base or the pool cannot be used, which is
            checked before anything is written; or a stage does not meet its expectations, and the edition is
            not completed.
    """
    require_wordings_of_pool(plan_edition(config))
    store = open_store(config.storage)
    edition = fetch_edition(config, store)
    require_published(edition.root, edition.edition_id)
    reports: list[str] = []
    build = partial(run_stage, reports)
    built = build_sample_stages(edition, build, store) if edition.has_triplets else []
    if edition.has_questions:
        built.append(build(edition, QUESTIONS.name, *built[:1]))
    read_triplets = partial(built[0].read, edition.root) if edition.has_triplets else None
    files = [ref for stage in built for ref in stage.files.values()]
    complete_edition(edition, files, list_left_out(edition, read_triplets))
    if warning := warn_of_wrong_texts(edition.root, edition.edition_id):
        get_run_logger().warning(warning)
    store.push_edition(edition.edition_id)
    summary = describe_stages(edition.edition_id, built)
    paths = {f"Parquet files of {edition.edition_id}": f"{edition_folder(edition.edition_id)}/"}
    show_page("build", edition.edition_id, [summary, render_links(config.storage, paths), *reports])
    return complete_with(edition.edition_id, summary)


def build_sample_stages(edition: Edition, build: RunStage, store: Store) -> list[StageFiles]:
    """Build every stage from the triplets to the samples, and return them in order."""
    triplets = build(edition, TRIPLETS.name)
    variants = build(edition, VARIANTS.name, triplets)
    statements = build(edition, STATEMENTS.name, triplets, variants)
    attempts = []
    if edition.writers and not edition.has_model_texts():
        writers = edition.writers.values()
        # One run asks all writers, so it needs the cards of the largest.
        largest = max((writer.config for writer in writers), key=lambda writer: writer.n_cards)
        (asked,) = run_subflows(rephrase_samples, [{"config": edition.config}], [largest])
        if asked.has_failed:
            raise InputError(asked.message)
        for model_id in {writer.model_id for writer in writers}:
            store.sync_responses(model_id)
    if edition.rephraser:
        attempts.append(build(edition, ATTEMPTS.name, triplets, statements))
    samples = build(edition, SAMPLES.name, triplets, statements, *attempts)
    return [triplets, variants, statements, *attempts, samples]


def describe_stages(edition_id: str, stages: Sequence[StageFiles]) -> str:
    """Return which stages of an edition were built and which were reused."""
    reused = [stage.stage.name for stage in stages if stage.is_reused]
    built = [stage.stage.name for stage in stages if not stage.is_reused]
    parts = [f"{what} {', '.join(names)}" for what, names in (("built", built), ("reused", reused)) if names]
    return f"{edition_id}: {'; '.join(parts)}"
