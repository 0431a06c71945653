"""score-again: score stored answers again under other policies, and publish. No model is asked."""

from collections.abc import Sequence
from dataclasses import replace

from prefect import flow, task

from flows.publish import publish
from flows.support.keys import open_store
from flows.support.runs import RETRIES, call_flow
from pretexeval.config.file import Config
from tasks.edition.planning import fetch_edition
from tasks.evaluation import scoring
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.failures import plan_scored


@flow(name="score-again", flow_run_name="score-{config.knowledge.name}-{config.edition.name}")
def score_again(config: Config, policies: Sequence[str] | None = None) -> str:
    """Score every model of the configuration, publish, and return the edition's name.

    Models whose evaluation failed stay listed as not evaluated.

    Args:
        policies: the scoring policies; by default those of the configuration. Policies under which a model
            was scored before are kept.

    Raises:
        InputError: a model was never evaluated on the edition.
    """
    store = open_store(config.storage)
    edition_id = fetch_edition(config, store).edition_id
    for name, setting in config.list_evaluations():
        evaluation = plan_scored(config, edition_id, name, setting, store)
        if evaluation is None:
            continue
        if policies:
            table = replace(evaluation.scoring, policies=tuple(policies))
            evaluation = replace(evaluation, scoring=table)
        score_answers_again(evaluation)
        store.push_evaluation(edition_id, evaluation.model_id, setting)
    call_flow(publish, edition_id=edition_id, config=config)
    return edition_id


@task(name="score-answers-again", **RETRIES)
def score_answers_again(evaluation: Evaluation) -> None:
    """Write the predictions of one model again, unless they are up to date."""
    scoring.score_again(evaluation)
