"""Names of flow runs: the action, the knowledge base, and the period or the seed."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import runtime, tags
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType

from flows.support.configurations import find_config, name_period_in
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from tasks.evaluation.missing_answers import Shard

Parameters = Mapping[str, Any]
"""The parameters of a run; by default those of the present one."""


def tag_runs() -> AbstractContextManager[set[str]]:
    """Give the runs that begin in the block the tag by which the automations find them."""
    return tags("pretexeval")


def name_edition_run(action: str) -> Callable[..., str]:
    """Return a function that names a run, such as `build-starter-2026-W47` or `build-starter-seed1`.

    The flow itself reports a configuration that is not valid, so its run is named after the file.
    """

    def name_run(parameters: Parameters | None = None) -> str:
        given = runtime.flow_run.parameters if parameters is None else parameters
        try:
            config = _find_config(given)
        except InputError:
            file, moment = given.get("config_file"), given.get("moment")
            period = name_period_in(Path(file), moment) if file and moment else None
            return "-".join(filter(None, (action, Path(file).stem if file else None, period)))
        label = config.edition.label or f"seed{config.edition.seed}"
        return f"{action}-{config.knowledge.name}-{label}"

    return name_run


def _find_config(given: Parameters) -> Config:
    if given.get("config") is not None:
        return Config.model_validate(given["config"])
    file = given.get("config_file")
    return find_config(None, Path(file) if file else None, given.get("moment"))


def name_evaluation_run(parameters: Parameters | None = None) -> str:
    """Return a name such as `evaluate-small-starter-seed1-1a2b3c4d`.

    The setting of questions comes last, or the period of anchors, and the shard.
    """
    given = runtime.flow_run.parameters if parameters is None else parameters
    shard = given.get("shard") and Shard.model_validate(given["shard"]).name
    parts = (given["model_name"], given["edition_id"], given.get("setting") or given.get("period"), shard)
    return "-".join(["evaluate", *filter(None, parts)])


def name_publish_run() -> str:
    """Return a name such as `publish-starter-2026-W47-1a2b3c4d`, or `publish-everything`."""
    return f"publish-{runtime.flow_run.parameters.get('edition_id') or 'everything'}"


def name_period_run() -> str:
    """Return a name such as `regenerate-medlama-2026-W47`, from the configuration file and the period."""
    return _name_scheduled(Path(runtime.flow_run.parameters["config_file"]), find_moment())


def _name_scheduled(config_file: Path, moment: datetime) -> str:
    return f"regenerate-{config_file.stem}-{name_period_in(config_file, moment)}"


def name_waiting_runs(client: SyncPrefectClient, deployment_id: UUID, config_file: Path) -> None:
    """Name the runs that the schedule of a deployment of `regenerate` has planned.

    Prefect gives them random names, and names a run by its flow only when it starts.
    """
    waiting = client.read_flow_runs(
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment_id])),
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
        ),
    )
    for run in waiting:
        if run.auto_scheduled and run.expected_start_time is not None:
            name = _name_scheduled(config_file, run.expected_start_time)
            if name != run.name:
                client.update_flow_run(run.id, name=name)


def find_moment() -> datetime:
    """Return the time that determines the period: the parameter `moment`, or else the scheduled start.

    A run that is started again later has the same time.
    """
    given: datetime | None = runtime.flow_run.parameters.get("moment")
    return given or find_start()


def find_start() -> datetime:
    """Return the time for which the run was scheduled."""
    scheduled: datetime | None = runtime.flow_run.scheduled_start_time
    return scheduled or datetime.now(UTC)
