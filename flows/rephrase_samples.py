"""rephrase-samples: ask writers for the texts of an edition. In a build, only this flow needs a GPU."""

import polars as pl
from prefect import flow, task

from flows.support.artifacts import show_run_progress
from flows.support.cancellation import end_when_cancelled
from flows.support.keys import open_store, provide_keys
from flows.support.runs import RETRIES, TIME_LIMIT_S, GivenConfig
from flows.support.stage_task import provide_stage
from pretexeval.primitives.errors import InputError
from schemas.stages import ATTEMPTS, STATEMENTS, TRIPLETS, VARIANTS
from tasks.asking.writers import ask_for_replies
from tasks.edition.attempts import ask_rounds
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.rephraser import Llmeval, Rephraser
from tasks.edition.stage_files import StageFiles
from tasks.edition.statements import join_entities


@flow(
    name="rephrase-samples",
    flow_run_name="rephrase-{config.knowledge.name}-{config.edition.name}",
    timeout_seconds=TIME_LIMIT_S,
)
@end_when_cancelled
def rephrase_samples(config: GivenConfig) -> None:
    """Ask for rewordings, verdicts and statements. Prompts with a stored reply are not asked again.

    A writer that fails does not stop the other one.

    Args:
        config: the name or the file of a configuration, for example "configs/quickstart.toml".

    Raises:
        InputError: a model cannot be used or reached, or leaves prompts without a reply. The replies that it
            gave are kept.
    """
    provide_keys(config.writers)
    edition = plan_edition(config)
    # Another host may build the edition, so its files may be missing here. Building them takes seconds.
    triplets = provide_stage(edition, TRIPLETS.name)
    problems = []
    for write in (_write_rewordings, _write_statements):
        try:
            write(edition, triplets)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))


def _write_rewordings(edition: Edition, triplets: StageFiles) -> None:
    if edition.rephraser is None:
        return
    variants = provide_stage(edition, VARIANTS.name, triplets)
    statements = provide_stage(edition, STATEMENTS.name, triplets, variants)
    attempts = ask_rephraser(edition, edition.rephraser, triplets, statements)
    provide_stage(edition, ATTEMPTS.name, triplets, statements, rows=attempts)


def _write_statements(edition: Edition, triplets: StageFiles) -> None:
    if edition.llmeval is not None:
        ask_llmeval(edition, edition.llmeval, triplets)


@task(name="ask-rephraser", **RETRIES)
def ask_rephraser(
    edition: Edition, rephraser: Rephraser, triplets: StageFiles, statements: StageFiles
) -> dict[str, pl.DataFrame]:
    """Ask for every rewording and verdict; return name of a piece -> attempts."""
    store = open_store(edition.config.storage)
    rows = [
        join_entities(statements.read(edition.root, piece), triplets.read(edition.root, piece))
        for piece in edition.pieces
    ]
    attempts = ask_rounds(store, rows, rephraser, show_run_progress)
    return dict(zip(edition.pieces, attempts, strict=True))


@task(name="ask-llmeval", **RETRIES)
def ask_llmeval(edition: Edition, llmeval: Llmeval, triplets: StageFiles) -> None:
    """Ask for the statements of method llmeval."""
    prompts = [
        prompt
        for piece in edition.pieces
        for prompt in llmeval.build_prompts(triplets.read(edition.root, piece))
    ]
    writer = llmeval.writer
    with show_run_progress(f"statements by {writer.config.name}", len(prompts)) as advance:
        ask_for_replies(open_store(edition.config.storage), writer, prompts, advance)
