"""regenerate: the next edition, every configured model on it, and the pages; what the schedule runs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prefect import flow, runtime

from config.file import Config, load_config
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
    """Make the edition of the week, and return its name. What is there already is not made again.

    Models are evaluated at the same time, as many as the pool lets run.

    Args:
        config_file: a TOML file; the week's label and seed replace those of the file.
        moment: a time in the week that is meant; if not given, the time that the run was scheduled for, so
            that a late run, or a second one, makes the same edition.

    Raises:
        InputError: if the edition cannot be built; or, after publishing, if a model failed: which, and why.
    """
    require_beginning()
    config = plan_week(load_config(config_file), find_moment())
    edition_id = build_test_set(config)
    results = evaluate_and_publish(config, edition_id)
    link_results(config, edition_id)
    show_leaderboard(config.storage.root, edition_id)
    show_outcomes(edition_id, results.outcomes)
    if results.failures:
        raise InputError(
            f"{len(results.failures)} of {len(results.outcomes)} models failed on {edition_id}; "
            + "; ".join(f"{name}: {reason}" for name, reason in results.failures.items())
        )
    return edition_id


@dataclass(frozen=True)
class Results:
    """What became of an edition that was there."""

    outcomes: dict[str, str | None]
    """Model -> why it failed, or null."""
    paths: list[Path]
    """The warehouse and the edition's page."""

    @property
    def failures(self) -> dict[str, str]:
        """Model -> why it failed, of those that did."""
        return {name: reason for name, reason in self.outcomes.items() if reason is not None}


def evaluate_and_publish(
    config: Config, edition_id: str, tell: Callable[[str], None] = lambda _: None
) -> Results:
    """Evaluate every configured model on an edition, then publish what succeeded.

    A deployed run hands the evaluations to the pool; any other run makes them itself, one after the other.

    Raises:
        InputError: if publishing fails; the message also names the models that failed.
    """
    outcomes = evaluate_models(config, edition_id)
    tell("publishing")
    try:
        return Results(outcomes, publish(config, edition_id))
    except InputError as error:
        failures = [f"{name}: {reason}" for name, reason in outcomes.items() if reason is not None]
        raise InputError("\n".join([*failures, str(error)])) from error


def evaluate_models(config: Config, edition_id: str) -> dict[str, str | None]:
    """Evaluate every configured model; return model -> why it failed, or null. One failure stops no other."""
    models = [model.name for model in config.models]
    calls = [{"config": config, "edition_id": edition_id, "model_name": name} for name in models]
    return dict(zip(models, run_parts(evaluate_model, calls), strict=True))


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
