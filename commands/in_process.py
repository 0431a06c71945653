"""Run the flows in the process of a command, one after the other."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from commands.prefect_server import is_own_server, require_named_server, start_server, wait_for_server
from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.identity import identify_model, require_some_usable
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.process import pause_collector
from pretexeval.storage.disk import MIN_FREE_BYTES, measure_free_space
from pretexeval.storage.layout import (
    PREFECT_FOLDER,
    TASKS_FOLDER,
    WAREHOUSE,
    edition_folder,
    model_file,
    page_file,
)
from pretexeval.storage.store import Store
from pretexeval.storage.withdrawals import require_published

if TYPE_CHECKING:
    import polars as pl


def is_evaluated_here(config: Config, edition_id: str) -> bool:
    """Return whether nothing is left to ask or to score.

    With a storage that hosts share, or a named Prefect server, others want to see each run: always false.
    """
    from tasks.evaluation.failures import are_evaluated

    if config.storage.shared is not None or "PREFECT_API_URL" in os.environ:
        return False
    return are_evaluated(config, edition_id, Store(config.storage))


def is_published(config: Config, edition_id: str) -> bool:
    """Return whether a publication of the edition would change nothing."""
    from report.page import are_pages_current
    from tasks.quality.measurements import is_measured
    from warehouse.publishing import is_warehouse_current

    root = config.storage.root
    return (
        is_measured(root, edition_id)
        and all(_has_record(root, model) for model in config.models)
        and is_warehouse_current(root)
        and are_pages_current(root, [edition_id])
    )


def _has_record(root: Path, model: ModelConfig) -> bool:
    """Return whether a model has its record, or cannot be identified and so gets none from a publication."""
    try:
        return (root / model_file(identify_model(model).model_id)).is_file()
    except InputError:
        return True


@dataclass(frozen=True)
class RunResult:
    """The results of a run, and their places."""

    edition_id: str
    root: Path
    """The data root, for `open_warehouse`, `load_edition` and `load_predictions`."""
    failures: dict[str, str]
    """Model, with the setting of questions in brackets -> why its evaluation failed. The others succeeded."""
    left_out: str | None = None
    """The other parts under the root that were not published, because files contradict their records."""

    @property
    def edition(self) -> Path:
        """The folder of the edition."""
        return self.root / edition_folder(self.edition_id)

    @property
    def warehouse(self) -> Path:
        """The file of the warehouse."""
        return self.root / WAREHOUSE

    @property
    def page(self) -> Path:
        """The page of the edition."""
        return self.root / page_file(self.edition_id)

    @property
    def leaderboard(self) -> "pl.DataFrame":
        """One row per model, method, scoring policy and repeat of this edition, by rank.

        The columns are those of the view `leaderboard`.
        """
        import polars as pl

        from warehouse.query import read_table

        where = f"where edition_id = '{self.edition_id}'"
        order = "order by method, scoring_policy, repeat, rank"
        return pl.DataFrame(read_table(self.root, f"from leaderboard {where} {order}"))


def prepare_prefect(root: Path) -> None:
    """Set Prefect's variables for this process, and begin to start a server if none is named.

    Variables that the user has set stay. Call this before Prefect is imported.

    Raises:
        InputError: if the data folder cannot be written, its disk is full, the history of the server is
            damaged, or the environment names a server that cannot be used.
    """
    home = root.absolute() / PREFECT_FOLDER
    # Each of the two folders may belong to another user.
    for folder in (root, home):
        _require_room(folder)
    defaults = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # Starting takes 11 to 18 s on two cores, more on a busy machine.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # Prefect gives up after 5 retries, which take a minute. These take about eight minutes.
        "PREFECT_CLIENT_MAX_RETRIES": "8",
    }
    # The server takes a run that is silent for three minutes for lost, also one that was started by hand.
    # Prefect's default is one heartbeat in that time, and 30 s is the shortest time that it allows.
    os.environ["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] = "30"
    # Prefect stores the error of every task and flow that fails. `publish` removes old ones.
    os.environ["PREFECT_LOCAL_STORAGE_PATH"] = str(root.absolute() / TASKS_FOLDER)
    has_server = "PREFECT_API_URL" in os.environ
    if not has_server:
        # Errors reach the user as one message; their tracebacks are for the server's log.
        defaults["PREFECT_LOGGING_LEVEL"] = "CRITICAL"
        defaults["PREFECT_LOGGING_SERVER_LEVEL"] = "CRITICAL"
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    try:
        Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"PREFECT_HOME is {os.environ['PREFECT_HOME']}, which cannot be a folder ({error.strerror}); "
            "set it to a folder, or unset it"
        ) from None
    if has_server:
        require_named_server()
    else:
        start_server(Path(os.environ["PREFECT_HOME"]))


@contextmanager
def _begin_flows(root: Path, *, has_checks: bool = False) -> Iterator[None]:
    """Import the flows while the server starts, and tag the runs of the block for the automations.

    Runs on a server that was started here are not tagged, because it has no automations. Prefect asks for the
    limits of every tag before each task, and if another request has locked a local database in that moment,
    the task waits for 2 s.

    Args:
        has_checks: whether the flows check what they write. Then Great Expectations is imported as well, for
            which the server leaves enough time.
    """
    prepare_prefect(root)
    with pause_collector():
        # It imports all flows.
        import_module("flows.regenerate")
        from prefect import tags

        if has_checks:
            from tasks.quality.validation import import_great_expectations

            import_great_expectations()

    wait_for_server()
    with nullcontext() if is_own_server() else tags("pretexeval"):
        yield


def _require_room(folder: Path) -> None:
    n_free = measure_free_space(folder, "[storage] root")
    if n_free < MIN_FREE_BYTES:
        raise InputError(
            f"[storage] root {folder}: the disk is full ({n_free / 1e6:.1f} MB free, a run needs "
            f"{MIN_FREE_BYTES / 1e6:.0f} MB at least); make room, or choose another folder"
        )


def open_store(storage: StorageConfig) -> Store:
    """Return the store of the storage that hosts share.

    If the environment names a Prefect server, keys are also read from its Secret blocks.

    Raises:
        InputError: if the storage cannot be used.
    """
    if storage.shared is None or "PREFECT_API_URL" not in os.environ:
        return Store(storage)
    prepare_prefect(storage.root)
    from flows.support import keys

    return keys.open_store(storage)


def run_build(config: Config) -> str:
    """Build the edition unless it is complete and intact; return its name.

    Raises:
        InputError: if the knowledge base, the pool or the root cannot be used, or the edition was withdrawn.
            This is checked before Prefect starts and before anything is written.
    """
    from tasks.edition.planning import fetch_edition, plan_edition
    from warehouse.publishing import require_usable_root

    # Problems of the base and the pool are reported before the storage is opened.
    plan_edition(config)
    require_usable_root(config.storage.root)
    store = open_store(config.storage)
    edition = fetch_edition(config, store)
    require_published(edition.root, edition.edition_id)
    if edition.is_whole():
        store.push_edition(edition.edition_id)
        return edition.edition_id
    with _begin_flows(config.storage.root, has_checks=True):
        from flows.build_test_set import build_test_set
        from flows.support.runs import call_flow

        call_flow(build_test_set, config=config)
    return edition.edition_id


def run_evaluations(config: Config, edition_id: str) -> dict[str, str]:
    """Evaluate every configured model; return model -> why it failed, of those that failed."""
    if is_evaluated_here(config, edition_id):
        return {}
    with _begin_flows(config.storage.root, has_checks=True):
        from flows.regenerate import evaluate_models, list_failures

        return list_failures(evaluate_models(config, edition_id))


def run_publish(config: Config, edition_id: str | None) -> str | None:
    """Publish what is complete, with the edition's page or all pages; return what was left out."""
    with _begin_flows(config.storage.root):
        from flows.regenerate import publish_outcomes

        return publish_outcomes(config, edition_id, {})


def refresh_page(config: Config, edition_id: str) -> None:
    """Write the page of a published edition again if editions that were published since belong on it."""
    if not is_published(config, edition_id):
        run_publish(config, edition_id)


def run_all(config: Config, report_step: Callable[[str], None]) -> RunResult:
    """Build the edition, evaluate every model, and publish.

    Args:
        report_step: receives a line about each step.

    Raises:
        InputError: if the edition cannot be built, no model can be used, or publishing fails.
    """
    from pretexeval.knowledge.doubtful_names import summarize_name_troubles
    from tasks.edition.planning import plan_edition
    from tasks.edition.risks import list_risks, read_balance

    require_some_usable(config.models)
    report_step("building the edition")
    edition_id = run_build(config)
    report_step(f"edition {edition_id}")
    base = plan_edition(config).base
    doubts = [*base.list_unused(), *summarize_name_troubles(base.triplets, base.aliases)]
    for warning in (*doubts, *list_risks(read_balance(config.storage.root, edition_id))):
        report_step(warning)
    root = config.storage.root
    is_evaluated = is_evaluated_here(config, edition_id)
    if is_evaluated and is_published(config, edition_id):
        report_step("everything is complete and published already")
        return RunResult(edition_id, root, {})
    with _begin_flows(root, has_checks=not is_evaluated):
        from flows.regenerate import evaluate_models, list_failures, publish_outcomes

        outcomes = evaluate_models(config, edition_id)
        report_step("publishing")
        failures = list_failures(outcomes)
        left_out = publish_outcomes(config, edition_id, failures)
    return RunResult(edition_id, root, failures, left_out)


def run_backfill(
    config: Config, first: str, last: str, report_step: Callable[[str], None]
) -> tuple[dict[str, str], str | None]:
    """Make or complete the editions of past periods, as `backfill` of flows/regenerate.py does.

    Raises:
        InputError: a label names no past period of the schedule, the base cannot be used, no model can be
            used, or publishing fails.
    """
    from flows.support.periods import list_moments

    moments = list_moments(config.schedule, first, last)
    require_some_usable(config.models)
    with _begin_flows(config.storage.root):
        from flows.regenerate import backfill

        return backfill(config, moments, report_step)
