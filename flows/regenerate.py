"""regenerate: build the edition of the period, evaluate all models on it, publish. The schedule runs this."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

import httpx
from prefect import flow, get_run_logger, runtime, task
from prefect.client.orchestration import get_client

from flows.build_test_set import build_test_set
from flows.evaluate_model import evaluate_model
from flows.publish import publish
from flows.support.artifacts import link_results, show_facets, show_leaderboard
from flows.support.cancellation import end_when_cancelled
from flows.support.configurations import inherit_config_file, read_config
from flows.support.dispatch import Parameters, run_evaluations
from flows.support.keys import open_store
from flows.support.outcomes import call_flow, complete_with
from flows.support.periods import plan_period
from flows.support.retention import remove_old_editions
from flows.support.retries import RETRIES, read_time_limit
from flows.support.run_names import find_moment, name_period_run, name_waiting_runs, tag_runs
from flows.support.summary import show_summary
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE, page_file
from tasks.edition.anchors import list_asked_again, plan_anchors
from tasks.edition.planning import plan_edition
from tasks.evaluation.failures import has_failure, write_failure
from warehouse.drift import describe_drift, describe_stale_texts
from warehouse.published import require_usable_root
from warehouse.publishing import PartsLeftOut
from warehouse.query import open_warehouse

# How often the server may start a run whose worker is lost (commands/deploy/automations.yaml). Without a
# limit, a run that kills its worker by using too much memory would be started again forever.
MAX_STARTS = 4


@flow(name="regenerate", flow_run_name=name_period_run, timeout_seconds=read_time_limit())
@end_when_cancelled
def regenerate(config_file: Path, moment: datetime | None = None) -> str:
    """Build, evaluate and publish the edition of the period, and return its name. Existing files are reused.

    Models are evaluated concurrently, as many as the work pool allows.

    Args:
        config_file: the name or the file of a configuration; the period's label and seed replace its own.
        moment: a time in the edition's period (day, week or month); by default the scheduled time of the
            run, so that a late run or a second run builds the same edition.

    Raises:
        InputError: the edition cannot be built; or a model failed, or too few texts are new, which is
            raised only after publishing.
    """
    require_start_allowed()
    name_next_runs(config_file)
    given = read_config(config_file)
    require_usable_root(given.storage.root)
    config = plan_period(given, find_moment())
    period = str(config.edition.label)
    with tag_runs():
        stages = call_flow(build_test_set, config_file=config_file, config=config)
        edition_id = plan_edition(config).edition_id
        not_anchored = ask_anchors(given, period)
        outcomes = evaluate_models(config, edition_id)
        # Before the publication, so that tables and pages agree with the files.
        remove_editions(config)
        results = publish_outcomes(config, edition_id, outcomes)
    link_results(config, edition_id)
    # The queries in the block share the open database.
    with open_warehouse(config.storage.root):
        show_leaderboard(config, edition_id)
        show_facets(config, edition_id)
        summary = show_summary(config, edition_id, stages, results.outcomes)
        for line in describe_drift(config.storage.root, edition_id):
            get_run_logger().info("%s", line)
        stale = describe_stale_texts(config.storage.root, edition_id, config.report.min_new_texts)
    if results.failures:
        raise InputError(
            f"{len(results.failures)} of {len(results.outcomes)} models failed on {edition_id}; "
            + "; ".join(f"{name}: {reason}" for name, reason in results.failures.items())
        )
    if results.left_out:
        raise InputError(results.left_out)
    if not_anchored:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in not_anchored.items())
        raise InputError(f"{len(not_anchored)} models were not asked the anchors in {period}; {reasons}")
    if stale:
        raise InputError(stale)
    return complete_with(edition_id, summary)


def name_next_runs(config_file: Path) -> None:
    """Name the runs that the schedule has planned, if a deployment started this one."""
    if runtime.deployment.id is not None:
        with get_client(sync_client=True) as client, contextlib.suppress(httpx.HTTPError):
            name_waiting_runs(client, UUID(str(runtime.deployment.id)), config_file)


@task(name="remove-old-editions", **RETRIES)
def remove_editions(config: Config) -> None:
    """Remove the editions of periods that are older than `keep_editions` allows."""
    found, _ = remove_old_editions(config, open_store(config.storage))
    for old in found:
        get_run_logger().info(
            "%s was %s", old.edition_id, f"kept: {old.kept_because}" if old.kept_because else "removed"
        )


@dataclass(frozen=True)
class EditionResults:
    """The results of evaluating and publishing an edition."""

    outcomes: dict[str, str | None]
    """Model -> the reason why it failed, or null."""
    paths: list[Path]
    """The warehouse and the edition's page."""
    left_out: str | None = None
    """What else under the root was left out, because files contradict their records."""

    @property
    def failures(self) -> dict[str, str]:
        """Failed model -> the reason why it failed."""
        return {name: reason for name, reason in self.outcomes.items() if reason is not None}


def evaluate_models(config: Config, edition_id: str) -> dict[str, str | None]:
    """Evaluate every configured model in every setting, even if some fail.

    A deployed run starts the evaluations in the work pool. Any other run evaluates the models one by one.

    Returns:
        Model, with the setting of questions in brackets -> why its evaluation failed, or null.
    """
    asked = config.list_evaluations()
    names = {"config": config, "edition_id": edition_id}
    calls = [names | {"model_name": name, "setting": setting} for name, setting in asked]
    labels = [f"{name} ({setting})" if setting else name for name, setting in asked]
    return dict(zip(labels, _run_evaluations(calls), strict=True))


def publish_outcomes(config: Config, edition_id: str, outcomes: dict[str, str | None]) -> EditionResults:
    """Publish what succeeded of the evaluations on an edition.

    Args:
        outcomes: model -> the reason why it failed, or null.

    Raises:
        InputError: publishing failed; the message also names the models that failed.
    """
    root = config.storage.root
    paths = [root / WAREHOUSE, root / page_file(edition_id)]
    try:
        call_flow(publish, edition_id=edition_id, config=config, **inherit_config_file())
        return EditionResults(outcomes, paths)
    except PartsLeftOut as error:
        return EditionResults(outcomes, paths, str(error))
    except InputError as error:
        failures = [f"{name}: {reason}" for name, reason in outcomes.items() if reason is not None]
        raise InputError("\n".join([*failures, str(error)])) from error


def ask_anchors(config: Config, period: str) -> dict[str, str]:
    """Ask every model the anchors that the configuration orders, even if some fail.

    Returns:
        Model -> why it was not asked, only for models that were not.
    """
    planned = plan_anchors(config)
    if planned is None:
        return {}
    models = list_asked_again(config)
    try:
        call_flow(build_test_set, config=planned, **inherit_config_file())
    except InputError as error:
        return dict.fromkeys(models, f"the edition of anchors cannot be built: {error}")
    names = {"config": planned, "edition_id": plan_edition(planned).edition_id, "period": period}
    reasons = _run_evaluations([names | {"model_name": name} for name in models])
    return {name: reason for name, reason in zip(models, reasons, strict=True) if reason is not None}


def _run_evaluations(calls: Sequence[Parameters]) -> list[str | None]:
    """Run evaluations; return for each why it failed, or null. Every failure leaves a record."""
    reasons = run_evaluations(evaluate_model, calls)
    for call, reason in zip(calls, reasons, strict=True):
        config, place = call["config"], call.get("setting") or call.get("period")
        names = (call["edition_id"], call["model_name"])
        store = open_store(config.storage)
        if reason is not None and not has_failure(store, *names, place):
            # Its worker was lost before it could write the record.
            write_failure(store, config, *names, reason, place)
    return reasons


def require_start_allowed() -> None:
    """Check that the server has not started this run too often.

    Raises:
        InputError: the run was started MAX_STARTS times before, and lost its worker every time.
    """
    n_starts = runtime.flow_run.run_count
    if n_starts > MAX_STARTS:
        raise InputError(
            f"this run lost its worker {n_starts - 1} times and is not started again; see the worker's log "
            "(out of memory?), then run it again: its files and answers so far are kept"
        )
