"""evaluate-model: the samples of an edition put to one model, and its answers judged."""

import time

from prefect import flow, task

from config.file import Config
from flows.support.artifacts import link_predictions, show_run_progress
from flows.support.keys import open_mirror, provide_keys
from flows.support.retries import RETRIES, read_time_limit
from tasks.asking.asker import AskingReport, ask_missing
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.scoring import ScoredFiles, complete_run, is_complete, score_evaluation


@flow(
    name="evaluate-model",
    flow_run_name="evaluate-{model_name}-{edition_id}",
    timeout_seconds=read_time_limit(),
)
def evaluate_model(config: Config, edition_id: str, model_name: str) -> str:
    """The model's id. Prompts that were ever answered are not asked again.

    Raises:
        InputError: if the model or the edition cannot be used, or the engine cannot be reached.
    """
    started = time.monotonic()
    evaluation = plan_evaluation(config, edition_id, model_name)
    link_predictions(config, edition_id, evaluation.folder)
    mirror = open_mirror(config.storage)
    mirror.pull_evaluation(edition_id, evaluation.model_id)
    if not is_complete(evaluation):
        provide_keys([evaluation.model])
        report = ask_model(evaluation)
        judged = score_answers(evaluation)
        complete_run(evaluation, judged, report, time.monotonic() - started)
    mirror.push_evaluation(edition_id, evaluation.model_id)
    return evaluation.model_id


@task(name="ask-model", **RETRIES)
def ask_model(evaluation: Evaluation) -> AskingReport:
    """Ask what was never asked; every chunk of answers is kept before the next is sent."""
    n_samples = evaluation.count_samples()
    with show_run_progress(f"asking {evaluation.model.name}", n_samples) as advance:
        return ask_missing(evaluation, advance)


@task(name="score-answers", **RETRIES)
def score_answers(evaluation: Evaluation) -> ScoredFiles:
    """Requests and predictions of the evaluation, as files."""
    return score_evaluation(evaluation)
