"""rephrase-samples: what language models write for an edition, asked for; nothing else needs a GPU."""

from prefect import flow, task

from config import Config
from flows.artifacts import show_run_progress
from schemas.stages import STATEMENTS, TRIPLETS
from tasks.edition import Edition, plan_edition
from tasks.replies import ask_for_replies, ask_rounds
from tasks.statements import join_entities


@flow(name="rephrase-samples", flow_run_name="rephrase-{config.knowledge.name}-seed{config.edition.seed}")
def rephrase_samples(config: Config) -> None:
    """Rewordings, verdicts and statements that were ever given are not asked for again.

    Raises:
        InputError: if a model cannot be used or reached, or leaves prompts without a reply. What it
            did reply is kept.
    """
    edition = plan_edition(config)
    ask_rephraser(edition)
    ask_llmeval(edition)


@task(name="ask-rephraser")
def ask_rephraser(edition: Edition) -> None:
    """Every rewording that the gate will be asked about, and every verdict of the judge."""
    if edition.rephraser is None:
        return
    relations = [
        join_entities(
            edition.read_relation(STATEMENTS.name, relation), edition.read_relation(TRIPLETS.name, relation)
        )
        for relation in edition.base.relations
    ]
    n_statements = sum(rows.height for rows in relations)
    with show_run_progress(f"rewording by {edition.rephraser.writer.config.name}", n_statements) as advance:
        ask_rounds(edition.root, relations, edition.rephraser, advance)


@task(name="ask-llmeval")
def ask_llmeval(edition: Edition) -> None:
    """The statements of method llmeval."""
    if edition.llmeval is None:
        return
    asks = [
        ask
        for relation in edition.base.relations
        for ask in edition.llmeval.ask_all(edition.read_relation(TRIPLETS.name, relation))
    ]
    with show_run_progress(f"statements by {edition.llmeval.writer.config.name}", len(asks)) as advance:
        ask_for_replies(edition.root, edition.llmeval.writer, asks, advance)
