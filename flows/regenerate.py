"""regenerate: build the edition of the period, evaluate all models on it, publish. The schedule runs this.

`backfill` does the same for past periods, in the process of a command; no deployment runs it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from prefect import flow, get_run_logger, runtime, tags, task

from flows.build_test_set import build_test_set
from flows.evaluate_model import evaluate_model
from flows.publish import publish
from flows.support.artifacts import locate
from flows.support.cancellation import end_when_cancelled
from flows.support.dispatch import run_evaluations
from flows.support.keys import open_store
from flows.support.periods import name_period, plan_period
from flows.support.results import show_results
from flows.support.retention import list_with_same_method, remove_old_editions
from flows.support.runs import (
    RETRIES,
    TIME_LIMIT_S,
    Outcome,
    Parameters,
    call_flow,
    complete_with,
    read_config,
)
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import page_file
from tasks.edition.anchors import list_asked_again, plan_anchors
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import label_evaluation
from tasks.evaluation.failures import has_failure, write_failure
from warehouse.publishing import PartsLeftOut, require_usable_root

# Number of times that the server may start a run that loses its worker (commands/deploy/automations.yaml).
# Without a limit, a run that kills its worker by using too much memory would be started again forever.
MAX_STARTS = 4


def name_period_run() -> str:
    """Return a name such as `regenerate-medlama-2026-W47`, from the configuration file and the period.

    The flow itself reports a configuration that is not valid, so its run is named after the day.
    """
    file, moment = Path(runtime.flow_run.parameters["config_file"]), find_moment()
    try:
        period = name_period(read_config(file).schedule, moment)
    except InputError:
        period = moment.date().isoformat()
    return f"regenerate-{file.stem}-{period}"


def find_moment() -> datetime:
    """Return the time that determines the period: the parameter `moment`, or else the scheduled start.

    A run that is started again later has the same time.
    """
    given: datetime | None = runtime.flow_run.parameters.get("moment")
    return given or runtime.flow_run.scheduled_start_time or datetime.now(UTC)


@flow(name="regenerate", flow_run_name=name_period_run, timeout_seconds=TIME_LIMIT_S)
@end_when_cancelled
def regenerate(config_file: Path, moment: datetime | None = None) -> str:
    """Build, evaluate and publish the edition of the period, and return its name. Existing files are reused.

    Models are evaluated concurrently, as many as the work pool allows.

    Args:
        config_file: the name or the file of a configuration; the period's label and seed replace its own.
        moment: a time in the edition's period (day, week or month); by default the scheduled time of the
            run, so that a late run or a second run builds the same edition.

    Raises:
        InputError: the edition cannot be built; or a model failed, which is raised only after
            publishing.
    """
    require_start_allowed()
    given = read_config(config_file)
    require_usable_root(given.storage.root)
    config = plan_period(given, find_moment())
    # By this tag, the installation's automations find the runs that begin in the block.
    with tags("pretexeval"):
        stages = call_flow(build_test_set, config=config)
        edition_id = plan_edition(config).edition_id
        not_anchored = ask_anchors(given, str(config.edition.label))
        outcomes = evaluate_models(config, edition_id)
        # Before the publication, so that tables and pages agree with the files.
        remove_editions(config)
        failures = list_failures(outcomes)
        left_out = publish_outcomes(config, edition_id, failures)
    end = (
        f"{len(outcomes) - len(failures)} of {len(outcomes)} evaluations are complete; "
        f"page: {locate(config.storage, page_file(edition_id))}"
    )
    models = [f"{name}: {outcome.message}" for name, outcome in outcomes.items()]
    summary = [f"period {config.edition.label}, {stages}", *models, end]
    for text in (*summary, *show_results("regenerate", config.storage, edition_id, summary)):
        get_run_logger().info("%s", text)
    if failures:
        raise InputError(
            f"{len(failures)} of {len(outcomes)} models failed on {edition_id}; "
            + "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        )
    if left_out:
        raise InputError(left_out)
    if not_anchored:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in not_anchored.items())
        raise InputError(
            f"{len(not_anchored)} models were not asked the anchors in {config.edition.label}; {reasons}"
        )
    return complete_with(edition_id, f"{edition_id}: {end}")


@task(name="remove-old-editions", **RETRIES)
def remove_editions(config: Config) -> None:
    """Remove the editions of periods that are older than `keep_editions` allows."""
    for edition_id, reason in remove_old_editions(config, open_store(config.storage)).items():
        get_run_logger().info("%s was %s", edition_id, f"kept: {reason}" if reason else "removed")


def list_failures(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Return failed model -> the reason why it failed."""
    return {name: outcome.message for name, outcome in outcomes.items() if outcome.has_failed}


def evaluate_models(config: Config, edition_id: str) -> dict[str, Outcome]:
    """Evaluate every configured model in every setting, even if some fail.

    A deployed run starts the evaluations in the work pools. Any other run evaluates the models one by one, or
    on a host with several cards as many at once as there are cards for them.

    Returns:
        Model, with the setting of questions in brackets -> how its evaluation ended.
    """
    asked = config.list_evaluations()
    names = {"config": config, "edition_id": edition_id}
    calls = [names | {"model_name": name, "setting": setting} for name, setting in asked]
    labels = [label_evaluation(name, setting) for name, setting in asked]
    return dict(zip(labels, _run_evaluations(calls), strict=True))


def publish_outcomes(config: Config, edition_id: str | None, failures: Mapping[str, str]) -> str | None:
    """Publish, with the page of the edition or all pages.

    Return what under the root was left out, because files contradict their records.

    Raises:
        InputError: publishing failed; the message also names the failures before it.
    """
    try:
        call_flow(publish, config=config, edition_id=edition_id)
    except PartsLeftOut as error:
        return str(error)
    except InputError as error:
        lines = [f"{what}: {reason}" for what, reason in failures.items()]
        raise InputError("\n".join([*lines, str(error)])) from error
    return None


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
        call_flow(build_test_set, config=planned)
    except InputError as error:
        return dict.fromkeys(models, f"the edition of anchors cannot be built: {error}")
    names = {"config": planned, "edition_id": plan_edition(planned).edition_id, "period": period}
    outcomes = _run_evaluations([names | {"model_name": name} for name in models])
    return list_failures(dict(zip(models, outcomes, strict=True)))


def _run_evaluations(calls: Sequence[Parameters]) -> list[Outcome]:
    """Run evaluations; every failure leaves a record."""
    outcomes = run_evaluations(evaluate_model, calls)
    for call, outcome in zip(calls, outcomes, strict=True):
        config, place = call["config"], call.get("setting") or call.get("period")
        names = (call["edition_id"], call["model_name"])
        store = open_store(config.storage)
        if outcome.has_failed and not has_failure(store, *names, place):
            # Its worker was lost before it could write the record.
            write_failure(store, config, *names, outcome.message, place)
    return outcomes


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


def backfill(
    config: Config, moments: Sequence[datetime], report_step: Callable[[str], None]
) -> tuple[dict[str, str], str | None]:
    """Evaluate every model on the editions of these periods, then publish.

    A period with a complete edition keeps it, although the base may have changed; any other gets one, as the
    schedule would build it now. Anchors are not asked, because answers of today say nothing of the past.

    Args:
        moments: a time in each period.
        report_step: receives a line about each edition.

    Returns:
        Period, or edition and model -> why it failed; and the result of `publish_outcomes`.

    Raises:
        InputError: the base cannot be used; or publishing failed, and the message also names the failures.
    """
    complete = list_with_same_method(plan_period(config, moments[0]))
    failures: dict[str, str] = {}
    for planned in (plan_period(config, moment) for moment in moments):
        label = str(planned.edition.label)
        names = [edition_id for edition_id, of in complete.items() if of == label]
        try:
            if not names:
                call_flow(build_test_set, config=planned)
                names = [plan_edition(planned).edition_id]
        except InputError as error:
            failures[label] = str(error)
        for edition_id in names:
            report_step(f"edition {edition_id}")
            for name, outcome in evaluate_models(planned, edition_id).items():
                if outcome.has_failed:
                    failures[f"{edition_id}, {name}"] = outcome.message
    report_step("publishing")
    return failures, publish_outcomes(config, None, failures)
