"""regenerate: the next edition, every configured model on it, and the pages; what the schedule runs."""

from datetime import datetime
from pathlib import Path

from prefect import flow, runtime

from config.file import load_config
from flows.build_test_set import build_test_set
from flows.evaluate_model import evaluate_model
from flows.publish import publish
from flows.support.artifacts import link_results, show_leaderboard, show_outcomes
from flows.support.dispatch import run_parts
from flows.support.retries import read_time_limit
from flows.support.run_names import find_moment, name_week_run
from flows.support.weeks import plan_week
from primitives.errors import InputError

# How often the server begins a run that lost its worker (deploy/automations.py): one that takes
# its worker down with it, for want of memory, would come back for ever.
MAX_BEGINNINGS = 4


@flow(name="regenerate", flow_run_name=name_week_run, timeout_seconds=read_time_limit())
def regenerate(config_file: Path, moment: datetime | None = None) -> str:
    """The name of the edition of the week. What is there already is not made, or asked for, again.

    Models are evaluated beside each other, as many as the pool lets run. One that fails does not stop the
    others: what succeeded is published, and the next run tries only what is missing.

    Args:
        config_file: a TOML file; its label and seed give way to the week's.
        moment: which week; when the run was scheduled for if not given, so that a late run, or a second
            one, makes the same edition.

    Raises:
        InputError: if the edition cannot be built; or, after publishing, if a model failed: which, and why.
    """
    require_beginning()
    config = plan_week(load_config(config_file), find_moment())
    edition_id = build_test_set(config)
    models = [model.name for model in config.models]
    calls = [{"config": config, "edition_id": edition_id, "model_name": name} for name in models]
    outcomes = dict(zip(models, run_parts(evaluate_model, calls), strict=True))
    publish(config, edition_id)
    link_results(config, edition_id)
    show_leaderboard(config.storage.root, edition_id)
    show_outcomes(edition_id, outcomes)
    if failures := [f"{name}: {reason}" for name, reason in outcomes.items() if reason is not None]:
        raise InputError(
            f"{len(failures)} of {len(models)} models failed on {edition_id}; " + "; ".join(failures)
        )
    return edition_id


def require_beginning() -> None:
    """Give up a run that the server has begun again too often.

    Raises:
        InputError: if it lost its worker every time.
    """
    n_beginnings = runtime.flow_run.run_count
    if n_beginnings > MAX_BEGINNINGS:
        raise InputError(
            f"this run lost its worker {n_beginnings - 1} times and is given up; see the worker's log (out "
            "of memory?), then run it again: what was made and answered is there"
        )
