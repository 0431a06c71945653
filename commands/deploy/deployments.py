"""Register everything with a Prefect server: the pools and their limits, the deployments, the automations.

Registering is idempotent: it updates what this installation registered before, creates nothing twice, and
touches nothing of others. It says what it did to each thing.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client

from commands.deploy.automations import provide_automations
from commands.deploy.cards import GpuWorker
from commands.deploy.owned import Change, Registration, compare, read_deployments, require_own
from commands.deploy.pools import plan_pools, provide_pool
from pretexeval.config.file import load_config
from pretexeval.config.installation_names import (
    CPU_POOL,
    DEFAULT_POOL,
    INSTALLATION_VARIABLE,
    InstallationNames,
)
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import TASKS_FOLDER

PROJECT = Path(__file__).parents[2]
POOLS = PROJECT / "commands" / "deploy" / "pools.toml"


def deploy_to_pools(client: SyncPrefectClient, registration: Registration) -> None:
    """Create the deployment of each of these flows for each pool, or update it in place."""
    installation = registration.installation
    for flow, name, pool in registration.pool_names:
        source = client.read_deployment_by_name(f"{flow}/{installation.name_subflow()}")
        client.create_deployment(
            source.flow_id,
            name,
            version=source.version,
            work_pool_name=installation.name_pool(pool),
            parameters=source.parameters,
            description=source.description,
            tags=source.tags,
            path=source.path,
            entrypoint=source.entrypoint,
            parameter_openapi_schema=source.parameter_openapi_schema,
            pull_steps=source.pull_steps,
            enforce_parameter_schema=source.enforce_parameter_schema,
            job_variables=source.job_variables,
        )


def deploy(
    config_file: Path,
    workers: Sequence[GpuWorker],
    limits: Mapping[str, int],
    pool_type: str,
    pools_file: Path,
    installation: InstallationNames,
    *,
    updates_pools: bool,
) -> list[Change]:
    """Create the pools of the installation, the automations, and the deployments of all flows.

    Args:
        workers: the workers of the hosts, whose pools are created.
        limits: role of a pool of containers -> how many runs it starts at once (`provide_pool`).
        pool_type: process, docker or kubernetes.
        pools_file: settings for the runs of docker and kubernetes pools.
        updates_pools: whether pools that exist get this limit and these settings.

    Raises:
        InputError: if the configuration is not valid, no server is named, it refuses access, a name belongs
            to somebody else, a pool cannot be created, or Prefect refuses a deployment.
    """
    config = load_config(config_file)
    named = {*config.list_pools(), *(worker.pool for worker in workers)}
    others = tuple(sorted(named - {DEFAULT_POOL}))
    plan = plan_pools(pool_type, pools_file, [pool for pool in others if pool != CPU_POOL])
    if pool_type != "process" and config_file.is_absolute():
        raise InputError(
            f"{config_file}: containers read the configuration under {plan.home}: give a path relative to it"
        )
    registration = Registration(
        installation, config_file, plan.home, config.storage.root, config.schedule, others
    )
    with open_server() as client:
        before = read_deployments(client, registration.names)
        # Refuse before anything is changed.
        for full_name, deployment in before.items():
            require_own(full_name, deployment, registration)
        # The pools first: `prefect deploy --all` skips a deployment whose pool is missing.
        changes = []
        for role in dict.fromkeys((CPU_POOL, DEFAULT_POOL, *registration.pools)):
            pool = installation.name_pool(role)
            changes.append(provide_pool(client, pool, role, plan, limits.get(role), is_updated=updates_pools))
        _deploy_flows(registration)
        deploy_to_pools(client, registration)
        after = read_deployments(client, registration.names)
        scheduled = after[registration.names[0]].id
        path = {"id": scheduled}
        client.request("POST", "/deployments/{id}/schedule", path_params=path, json={}).raise_for_status()
        changes += compare(before, after, registration.names)
        return changes + provide_automations(client, installation)


@contextmanager
def open_server() -> Iterator[SyncPrefectClient]:
    """Yield a client of the server that the environment names; turn its errors into messages.

    Raises:
        InputError: if no server is named, or it cannot be reached or refuses a request.
    """
    if "PREFECT_API_URL" not in os.environ:
        raise InputError("PREFECT_API_URL is not set: set it to the API of the server")
    try:
        with get_client(sync_client=True) as client:
            yield client
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        remedy = (
            "load the password of the server, for example with `source data/prefect/client.env`, or set "
            "PREFECT_API_AUTH_STRING"
            if status in (401, 403)
            else "see the log of the server"
        )
        raise InputError(f"the Prefect server refuses a request (HTTP {status}); {remedy}") from None
    except httpx.HTTPError as error:
        raise InputError(
            f"the Prefect server that PREFECT_API_URL names cannot be reached ({type(error).__name__}); "
            "start it, or correct the address (it ends in /api)"
        ) from None


def _deploy_flows(registration: Registration) -> None:
    variables = {
        "PRETEXEVAL_HOME": str(registration.home),
        "PRETEXEVAL_RESULTS": str(registration.home / registration.root / TASKS_FOLDER),
        "PRETEXEVAL_CONFIG": str(registration.config_file),
        "PRETEXEVAL_SCHEDULE": registration.installation.name_schedule(registration.config_file),
        "PRETEXEVAL_CRON": registration.schedule.cron,
        "PRETEXEVAL_TIMEZONE": registration.schedule.timezone,
        "PRETEXEVAL_TAG": registration.installation.tag,
        INSTALLATION_VARIABLE: registration.installation.name,
        "PYTHONPATH": str(PROJECT),
    }
    command = ["--no-prompt", "deploy", "--all", "--prefect-file", str(PROJECT / "prefect.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *command],
        cwd=PROJECT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(f"Prefect refused the deployments:\n{done.stdout}{done.stderr}")
