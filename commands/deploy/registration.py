"""Register a configuration with a Prefect server, and remove it: pools, deployments, schedule, automations.

Registering is idempotent: it updates what is there and creates nothing twice.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from ruamel.yaml import YAML

from pretexeval.config.engines import CPU_POOL
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import TASKS_FOLDER

PROJECT = Path(__file__).parents[2]
AUTOMATIONS = Path(__file__).with_name("automations.yaml")
EVERY_POOL = "models"
"""Name in `prefect.yaml` of a deployment that each work pool of the models gets."""
ACTIVE = (StateType.PENDING, StateType.RUNNING, StateType.CANCELLING)


def deploy(config_file: Path, config: Config, home: Path) -> list[str]:
    """Create the pools, the deployments of all flows, and the automations; return what is there, by line.

    Args:
        home: the folder in which runs start, where they find the configuration and a relative data folder.

    Raises:
        InputError: the server cannot be used, another file of the same name is deployed, or Prefect refuses a
            deployment.
    """
    name = f"regenerate/{config_file.stem}"
    pools = sorted(config.list_pools()) or [CPU_POOL]
    with open_server() as client:
        if known := _find_deployment(client, name):
            _require_same_file(known, config_file, home)
        for pool in {CPU_POOL, *pools}:
            with suppress(ObjectAlreadyExists):
                client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
        _deploy_flows(config_file, config, home, pools)
        deployment = client.read_deployment_by_name(name)
        path = {"id": deployment.id}
        client.request("POST", "/deployments/{id}/schedule", path_params=path, json={}).raise_for_status()
        automations = _provide_automations(client)
    return [
        *(f"pool {pool}" for pool in pools),
        f"deployment {name} ({_describe_times(deployment)})",
        *(f'automation "{each}"' for each in automations),
    ]


def remove(config_file: Path) -> str:
    """Delete the deployment of `regenerate` with its schedule and its waiting runs; return what was done.

    Raises:
        InputError: the server cannot be used, or a run of the deployment is active.
    """
    name = f"regenerate/{config_file.stem}"
    with open_server() as client:
        deployment = _find_deployment(client, name)
        if deployment is None:
            return f"{config_file} is not deployed"
        _require_same_file(deployment, config_file, Path())
        active = client.read_flow_runs(
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id])),
            flow_run_filter=FlowRunFilter(
                state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(ACTIVE)))
            ),
        )
        if active:
            raise InputError(
                f"{', '.join(sorted(str(run.name) for run in active))}: wait for the end or cancel "
                f"(`prefect flow-run cancel {active[0].id}`), then remove the configuration again"
            )
        client.delete_deployment(deployment.id)
        return f"removed deployment {name} ({_describe_times(deployment)})"


@contextmanager
def open_server() -> Iterator[SyncPrefectClient]:
    """Yield a client of the server that the environment names; turn its errors into messages.

    Raises:
        InputError: no server is named, or it cannot be reached or refuses a request.
    """
    if "PREFECT_API_URL" not in os.environ:
        raise InputError("PREFECT_API_URL is not set: run `source data/prefect/client.env`, or set it")
    try:
        with get_client(sync_client=True) as client:
            yield client
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        raise InputError(
            f"the Prefect server refuses a request (HTTP {status}); see the log of the server"
        ) from None
    except httpx.HTTPError as error:
        raise InputError(
            f"the Prefect server that PREFECT_API_URL names cannot be reached ({type(error).__name__}); "
            "start it, or correct the address (it ends in /api)"
        ) from None


def _find_deployment(client: SyncPrefectClient, name: str) -> DeploymentResponse | None:
    with suppress(ObjectNotFound):
        return client.read_deployment_by_name(name)
    return None


def _require_same_file(deployment: DeploymentResponse, config_file: Path, home: Path) -> None:
    """Raise InputError if the deployment runs another file, because its schedule would be lost."""
    file = home.absolute() / str(deployment.parameters.get("config_file"))
    if os.path.normpath(file) != os.path.normpath(home.absolute() / config_file):
        name = f"regenerate/{deployment.name}"
        raise InputError(
            f"{name} runs {file}; deployments are named after the configuration: "
            f"rename one of the two files, or run `prefect deployment delete {shlex.quote(name)}`"
        )


def _deploy_flows(config_file: Path, config: Config, home: Path, pools: Sequence[str]) -> None:
    """Register the deployments of `prefect.yaml`, those of flows that load a model for each pool."""
    variables = {
        "PRETEXEVAL_HOME": str(home),
        "PRETEXEVAL_RESULTS": str(home / config.storage.root / TASKS_FOLDER),
        "PRETEXEVAL_CONFIG": str(config_file),
        "PRETEXEVAL_SCHEDULE": config_file.stem,
        "PRETEXEVAL_CRON": config.schedule.cron,
        "PRETEXEVAL_TIMEZONE": config.schedule.timezone,
        "PYTHONPATH": str(PROJECT),
    }
    project = YAML(typ="safe").load(PROJECT / "prefect.yaml")
    of_models = [table for table in project["deployments"] if table["name"] == EVERY_POOL]
    project["deployments"] = [
        *(table for table in project["deployments"] if table["name"] != EVERY_POOL),
        *(
            table | {"name": pool, "work_pool": table["work_pool"] | {"name": pool}}
            for table in of_models
            for pool in pools
        ),
    ]
    with TemporaryDirectory() as folder:
        file = Path(folder, "prefect.yaml")
        YAML(typ="safe").dump(project, file)
        done = subprocess.run(
            [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)],
            cwd=PROJECT,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise InputError(f"Prefect refused the deployments:\n{done.stdout}{done.stderr}")


def _provide_automations(client: SyncPrefectClient) -> list[str]:
    """Create or update the automations and return their names; one that was switched off stays off."""
    tables = YAML(typ="safe").load(AUTOMATIONS)["automations"]
    automations = [AutomationCore.model_validate(table) for table in tables]
    for automation in automations:
        known = client.read_automations_by_name(automation.name)
        for each in known:
            client.update_automation(each.id, automation.model_copy(update={"enabled": each.enabled}))
        if not known:
            client.create_automation(automation)
    return [automation.name for automation in automations]


def _describe_times(deployment: DeploymentResponse) -> str:
    """Return when a deployment runs, such as `0 3 * * 1 Etc/UTC`."""
    times = []
    for each in deployment.schedules:
        cron = each.schedule
        time = f"{cron.cron} {cron.timezone}" if isinstance(cron, CronSchedule) else "another schedule"
        times.append(time if each.active else f"{time}, switched off")
    return "; ".join(sorted(times))
