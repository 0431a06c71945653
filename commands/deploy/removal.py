"""Remove a configuration from a Prefect server; with the last one, all that the installation registered."""

from collections.abc import Sequence
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectNotFound

from commands.deploy.automations import provide_automations, remove_automations
from commands.deploy.deployments import POOLS, open_server
from commands.deploy.owned import (
    SCHEDULED_FLOW,
    Change,
    Registration,
    describe_times,
    list_own,
    read_deployments,
    require_own,
)
from commands.deploy.pools import plan_pools
from pretexeval.config.file import Config
from pretexeval.config.installation_names import CPU_POOL, DEFAULT_POOL, InstallationNames
from pretexeval.primitives.errors import InputError

ACTIVE = (StateType.PENDING, StateType.RUNNING, StateType.CANCELLING)


def undeploy(config_file: Path, config: Config, installation: InstallationNames) -> list[Change]:
    """Remove the deployment of `regenerate` with its schedule; return what was done, nothing a second time.

    When no other configuration of the installation is deployed, its automations, the deployments of the other
    flows and its pools go too. A pool that deployments of others use stays.

    Raises:
        InputError: the server cannot be used, the deployment belongs to somebody else, or a run of what would
            be removed is active. This is checked before anything is changed.
    """
    name = f"{SCHEDULED_FLOW}/{installation.name_schedule(config_file)}"
    with open_server() as client:
        own = list_own(client, installation)
        is_last = not [each for each in own if each.startswith(f"{SCHEDULED_FLOW}/") and each != name]
        removed = read_deployments(client, [name]) | (own if is_last else {})
        for each, deployment in removed.items():
            home = _find_home(client, deployment)
            registration = Registration(installation, config_file, home, config.storage.root, config.schedule)
            require_own(each, deployment, registration)
        _require_idle(client, list(removed.values()))
        for deployment in removed.values():
            client.delete_deployment(deployment.id)
        changes = [Change("removed", f"deployment {each}", describe_times(removed[each])) for each in removed]
        if is_last:
            pools = {deployment.work_pool_name for deployment in removed.values()} - {None}
            pools |= {installation.name_pool(role) for role in (CPU_POOL, DEFAULT_POOL)}
            changes += remove_automations(client, installation)
            changes += [change for pool in sorted(map(str, pools)) for change in _remove_pool(client, pool)]
        elif removed:
            changes += provide_automations(client, installation)
        return changes


def _find_home(client: SyncPrefectClient, deployment: DeploymentResponse) -> Path:
    """Return the folder in which `deploy` from here lets runs of the deployment's pool start."""
    try:
        pool_type = client.read_work_pool(str(deployment.work_pool_name)).type
    except ObjectNotFound:
        return Path.cwd()
    return plan_pools(pool_type, POOLS).home


def _require_idle(client: SyncPrefectClient, deployments: Sequence[DeploymentResponse]) -> None:
    active = client.read_flow_runs(
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[each.id for each in deployments])),
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(ACTIVE)))
        ),
    )
    if active:
        raise InputError(
            f"{', '.join(sorted(str(run.name) for run in active))}: wait for the end or cancel "
            f"(`prefect flow-run cancel {active[0].id}`), then undeploy again"
        )


def _remove_pool(client: SyncPrefectClient, name: str) -> list[Change]:
    what = f"pool {name}"
    others = client.read_deployments(work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[name])))
    if others:
        return [Change("left", what, f"the deployment {others[0].name} of others uses it")]
    try:
        client.delete_work_pool(name)
    except ObjectNotFound:
        return []
    return [Change("removed", what)]
