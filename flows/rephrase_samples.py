"""rephrase-samples: what language models write for an edition, asked for; nothing else needs a GPU."""

from prefect import flow, task

from config.file import Config
from flows.support.artifacts import show_run_progress
from flows.support.keys import provide_keys, provide_storage_keys
from flows.support.retries import RETRIES, read_time_limit
from flows.support.run_names import name_edition_run
from schemas.stages import STATEMENTS, TRIPLETS
from tasks.asking.writer_replies import ask_for_replies, ask_rounds
from tasks.edition.drafts import draft_statements
from tasks.edition.edition import Edition, plan_edition
from tasks.edition.statements import join_entities


@flow(
    name="rephrase-samples",
    flow_run_name=name_edition_run("rephrase"),
    timeout_seconds=read_time_limit(),
)
def rephrase_samples(config: Config) -> None:
    """Rewordings, verdicts and statements that were ever given are not asked for again.

    Raises:
        InputError: if a model cannot be used or reached, or leaves prompts without a reply. What it
            did reply is kept.
    """
    edition = plan_edition(config)
    provide_keys(config.writers)
    provide_storage_keys(config.storage)
    ask_rephraser(edition)
    ask_llmeval(edition)


@task(name="ask-rephraser", **RETRIES)
def ask_rephraser(edition: Edition) -> None:
    """Every rewording that the gate will be asked about, and every verdict of the judge."""
    if edition.rephraser is None:
        return
    # Drafted, not read: the files may lie on the host that builds the edition.
    drafts = [draft_statements(edition, relation) for relation in edition.base.relations]
    relations = [join_entities(draft[STATEMENTS.name], draft[TRIPLETS.name]) for draft in drafts]
    n_statements = sum(rows.height for rows in relations)
    with show_run_progress(f"rewording by {edition.rephraser.writer.config.name}", n_statements) as advance:
        ask_rounds(edition.config.storage, relations, edition.rephraser, advance)


@task(name="ask-llmeval", **RETRIES)
def ask_llmeval(edition: Edition) -> None:
    """The statements of method llmeval."""
    if edition.llmeval is None:
        return
    asks = [
        ask
        for relation in edition.base.relations
        for ask in edition.llmeval.ask_all(draft_statements(edition, relation)[TRIPLETS.name])
    ]
    with show_run_progress(f"statements by {edition.llmeval.writer.config.name}", len(asks)) as advance:
        ask_for_replies(edition.config.storage, edition.llmeval.writer, asks, advance)
