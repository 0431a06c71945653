"""The flows in this process, one after the other, with no server to start."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cli.prefect_server import start_server, wait_for_server
from config.file import Config
from config.tables import StorageConfig
from deploy.local.watchdog import start_watchdog
from engines.identity import identify_model
from engines.load import begin_loading
from primitives.errors import InputError
from storage.disk import MIN_FREE_BYTES, measure_room

if TYPE_CHECKING:
    from storage.mirror import Mirror


@dataclass
class RunReport:
    """What a run made, and which models failed (name -> reason)."""

    edition_id: str
    paths: list[Path] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


def prepare_prefect(root: Path) -> None:
    """Settings for Prefect in this process, and its server on the way; what the user has set stays.

    Call it before Prefect is imported.

    Raises:
        InputError: if the data folder cannot be written.
    """
    home = root.absolute() / "prefect"
    # Either may belong to another user.
    for folder in (root, home):
        _require_room(folder)
    home.mkdir(parents=True, exist_ok=True)
    defaults = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # Starting takes 11 to 18 s on two cores, more on a busy machine.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    }
    has_server = "PREFECT_API_URL" in os.environ
    if not has_server:
        # Errors reach the user as one message; their tracebacks are for the server's log.
        defaults["PREFECT_LOGGING_LEVEL"] = "CRITICAL"
        defaults["PREFECT_LOGGING_SERVER_LEVEL"] = "CRITICAL"
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    if not has_server:
        start_watchdog()
        start_server()


def _require_room(folder: Path) -> None:
    n_free = measure_room(folder)
    if n_free < MIN_FREE_BYTES:
        raise InputError(
            f"[storage] root {folder}: the disk is full ({n_free / 1e6:.1f} MB free, a run needs "
            f"{MIN_FREE_BYTES / 1e6:.0f} MB at least); make room, or choose another folder"
        )


def open_mirror(storage: StorageConfig) -> "Mirror":
    """The storage that hosts share; its keys from a server's secret blocks too, where one is named.

    Raises:
        InputError: if the storage cannot be used.
    """
    if storage.shared is None or "PREFECT_API_URL" not in os.environ:
        from storage.mirror import Mirror

        return Mirror(storage)
    prepare_prefect(storage.root)
    from flows.support import keys

    return keys.open_mirror(storage)


def run_build(config: Config, *, is_evaluated_next: bool = False) -> str:
    """Build the edition, unless all of it is there; its name.

    Raises:
        InputError: if the knowledge base or the pool cannot be used, before Prefect starts and
            anything is written.
    """
    from tasks.edition.edition import plan_edition

    edition, mirror = plan_edition(config), open_mirror(config.storage)
    mirror.pull_edition(edition.edition_id)
    if is_evaluated_next:
        _begin_evaluations(config, mirror)
    if edition.is_whole:
        mirror.push_edition(edition.edition_id)
        return edition.edition_id
    prepare_prefect(config.storage.root)
    from flows.build_test_set import build_test_set

    wait_for_server()
    return build_test_set(config)


def _begin_evaluations(config: Config, mirror: "Mirror") -> None:
    """Begin importing the engine, while Prefect starts, if a model was never asked anything.

    Prefect's server is a process of its own that takes 5 s and more on one core, importing vLLM 6 s
    on another.
    """
    from storage.responses import ResponseStore

    for model in config.models:
        model_id = identify_model(model).model_id
        mirror.sync_responses(model_id)
        if ResponseStore(config.storage.root, model_id).is_empty:
            begin_loading(model)
            return


def run_evaluations(config: Config, edition_id: str) -> dict[str, str]:
    """Evaluate every configured model; one that fails does not stop the others. Name -> reason."""
    prepare_prefect(config.storage.root)
    from flows.evaluate_model import evaluate_model

    wait_for_server()
    failures = {}
    for model in config.models:
        try:
            evaluate_model(config, edition_id, model.name)
        except InputError as error:
            failures[model.name] = str(error)
    return failures


def run_publish(config: Config, edition_id: str | None) -> list[Path]:
    """Publish what is complete; the warehouse and the edition's page, or the list of all editions' pages."""
    prepare_prefect(config.storage.root)
    from flows.publish import publish

    wait_for_server()
    return publish(config, edition_id)


def run_all(config: Config, tell: Callable[[str], None]) -> RunReport:
    """Build, evaluate and publish.

    Raises:
        InputError: for anything that is wrong before the first model is asked.
    """
    for model in config.models:
        identify_model(model)
    tell("building the edition")
    report = RunReport(run_build(config, is_evaluated_next=True))
    tell(f"edition {report.edition_id}")
    report.failures = run_evaluations(config, report.edition_id)
    tell("publishing")
    try:
        report.paths = run_publish(config, report.edition_id)
    except InputError as error:
        failures = [f"{name}: {reason}" for name, reason in report.failures.items()]
        raise InputError("\n".join([*failures, str(error)])) from error
    return report
