"""evaluate-model: ask one model the samples or the questions of an edition, and score its answers."""

import time
from collections.abc import Mapping
from typing import Any

from prefect import flow, runtime, task
from pydantic.json_schema import SkipJsonSchema

from flows.support.artifacts import render_links, show_page, show_run_progress
from flows.support.cancellation import end_when_cancelled
from flows.support.keys import open_store, provide_keys
from flows.support.runs import RETRIES, TIME_LIMIT_S, GivenConfig, complete_with
from pretexeval.config.questions import Setting
from pretexeval.storage.layout import page_file
from pretexeval.storage.store import Store
from tasks.evaluation import chains, request_files, scoring
from tasks.evaluation.evaluation import Evaluation, hold_evaluation, plan_evaluation
from tasks.evaluation.failures import record_failure, require_evaluated
from tasks.evaluation.missing_answers import AskingReport, Shard, ask_missing, ask_shard, list_shard
from tasks.evaluation.request_files import RequestFiles
from tasks.evaluation.run_record import complete_run, is_complete, read_run

PartOfPrompts = SkipJsonSchema[Shard | None]
"""The parameter by which a run passes a part of the prompts to the runs that it starts; no form shows it."""
write_requests = task(name="write-requests", **RETRIES)(request_files.write_requests)
score_answers = task(name="score-answers", **RETRIES)(scoring.score_evaluation)
score_imported = task(name="score-imported", **RETRIES)(scoring.score_finished)


def name_evaluation_run(parameters: Mapping[str, Any] | None = None) -> str:
    """Return a name such as `evaluate-small-starter-seed1-1a2b3c4d`.

    The setting of questions comes last, or the period of anchors, and the shard.
    """
    given = runtime.flow_run.parameters if parameters is None else parameters
    shard = given.get("shard") and Shard.model_validate(given["shard"]).name
    parts = (given["model_name"], given["edition_id"], given.get("setting") or given.get("period"), shard)
    return "-".join(["evaluate", *filter(None, parts)])


@flow(name="evaluate-model", flow_run_name=name_evaluation_run, timeout_seconds=TIME_LIMIT_S)
@end_when_cancelled
def evaluate_model(
    config: GivenConfig,
    edition_id: str,
    model_name: str,
    setting: Setting | None = None,
    period: str | None = None,
    shard: PartOfPrompts = None,
    is_asked: SkipJsonSchema[bool] = False,
) -> str:
    """Evaluate one model and return its id. Prompts with a stored answer are not asked again.

    A failure leaves a record, so that the edition's page can list the model as not evaluated.

    Args:
        config: the name or the file of a configuration, for example "configs/quickstart.toml".
        edition_id: the name of a complete edition, for example "starter-2026-W47-1a2b3c4d".
        model_name: the name of a model of the configuration.
        setting: answer_only or chain_of_thought, if the model is asked the questions of the edition;
            true_false_unsure, if it is asked the samples with a third answer; None: with two answers.
        period: the period of a schedule in which the model is asked anchors; None: the edition has none.
        shard: ask only this part of the prompts, and score nothing.
        is_asked: whether shards have asked all prompts. Then those that failed are not asked again.

    Raises:
        InputError: the model or the edition cannot be used, the engine cannot be reached, or too many prompts
            failed. The answers so far are kept.
    """
    store = open_store(config.storage)
    names = (edition_id, model_name, setting or period)
    with record_failure(store, config, *names, is_whole=shard is None):
        evaluation = plan_evaluation(config, edition_id, model_name, setting, period)
        if shard is not None:
            return evaluate_shard(evaluation, shard, store)
        store.pull_answers(edition_id, evaluation.model_id, evaluation.folder)
        with hold_evaluation(evaluation):
            is_reused = is_complete(evaluation)
            if not is_reused:
                complete_evaluation(evaluation, asks_failed=not is_asked)
        store.push_evaluation_files(evaluation.folder)
        require_evaluated(evaluation)
    summary = describe_answers(read_run(evaluation), is_reused=is_reused, is_asked=is_asked)
    files = {f"Prompts and scored answers of {evaluation.folder}": f"{evaluation.folder}/"}
    # Anchors have no page.
    page = {} if period else {f"Page of {edition_id}, written when it is published": page_file(edition_id)}
    show_page(f"evaluate-{model_name}", edition_id, [summary, render_links(config.storage, page | files)])
    return complete_with(evaluation.model_id, summary)


def describe_answers(record: Mapping[str, Any], *, is_reused: bool, is_asked: bool = False) -> str:
    """Return how many prompts of an evaluation were asked, reused and failed, and what is odd about replies.

    Args:
        record: the record of the evaluation.
        is_reused: whether the evaluation was complete before the run.
        is_asked: whether shards have asked the prompts.
    """
    n_items = int(record["n_samples"])
    n_asked = 0 if is_reused else int(record["n_asked"])
    asked = f"{n_asked:,} prompts asked, {n_items - n_asked:,} answers reused"
    if is_asked and not is_reused:
        asked = f"{n_items:,} answers, asked in shards or reused"
    counts = f"{asked}, {int(record['n_errors']):,} failed"
    if record["n_not_needed"]:
        counts += f", {int(record['n_not_needed']):,} not needed"
    return ". ".join([counts, *record["remarks"]])


def evaluate_shard(evaluation: Evaluation, shard: Shard, store: Store) -> str:
    """Ask the prompts of a shard, unless the evaluation is complete, and return the model's id.

    Other shards ask at the same time, so the lock of the evaluation is held only for chains of thought.
    """
    store.pull_answers(evaluation.edition_id, evaluation.model_id, evaluation.folder)
    if not is_complete(evaluation):
        with hold_evaluation(evaluation):
            prepare_demonstrations(evaluation)
        ask_part(evaluation, shard)
    return evaluation.model_id


def prepare_demonstrations(evaluation: Evaluation) -> None:
    """Provide the keys of the endpoint, and ask for the chains of thought that the demonstrations show."""
    provide_keys([evaluation.model])
    if evaluation.subject.asks_for_chains:
        ask_chains(evaluation)


def complete_evaluation(evaluation: Evaluation, *, asks_failed: bool) -> None:
    """Write the requests, ask the model, score its answers, and write the record.

    Imported answers are only scored again: there is no model to ask.
    """
    if evaluation.model.engine == "imported":
        score_imported(evaluation)
        return
    started = time.monotonic()
    prepare_demonstrations(evaluation)
    requests = write_requests(evaluation)
    report = ask_model(evaluation, requests, asks_failed=asks_failed)
    scored = score_answers(evaluation, requests)
    complete_run(evaluation, requests, scored, report, time.monotonic() - started)


@task(name="ask-chains", **RETRIES)
def ask_chains(evaluation: Evaluation) -> None:
    """Ask the model for the chains of thought that its demonstrations show."""
    requests = chains.list_chain_requests(evaluation)
    n_most = len(requests) * evaluation.subject.n_repeats
    with show_run_progress(f"chains of thought by {evaluation.model.name}", n_most) as advance:
        chains.ask_chains(evaluation, requests, open_store(evaluation.storage), advance)


@task(name="ask-model", **RETRIES)
def ask_model(evaluation: Evaluation, requests: RequestFiles, *, asks_failed: bool) -> AskingReport:
    """Ask the prompts that have no answer; answers are stored as they arrive."""
    with show_run_progress(f"asking {evaluation.model.name}", requests.n_samples) as advance:
        store = open_store(evaluation.storage)
        return ask_missing(evaluation, requests, store, advance, asks_failed=asks_failed)


@task(name="ask-shard", **RETRIES)
def ask_part(evaluation: Evaluation, shard: Shard) -> None:
    """Ask the prompts of a shard that have no answer, and store the answers as `ask_model` does."""
    asked = list_shard(evaluation, shard)
    n_prompts = asked.height * evaluation.subject.n_repeats
    with show_run_progress(f"asking {evaluation.model.name}, {shard.name}", n_prompts) as advance:
        ask_shard(evaluation, asked, shard, open_store(evaluation.storage), advance)
