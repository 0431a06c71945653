"""The deployments of an installation on a server, and how they differ after a registration."""

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectNotFound

from pretexeval.config.installation_names import InstallationNames
from pretexeval.config.schedule import ScheduleConfig
from pretexeval.primitives.errors import InputError

SCHEDULED_FLOW = "regenerate"
# The flows that `regenerate` starts; they get the configuration as a parameter.
SUBFLOWS = ("build-test-set", "rephrase-samples", "evaluate-model", "publish")
# Those that load a model; each has a deployment for every work pool.
MODEL_FLOWS = ("rephrase-samples", "evaluate-model")
DELETE = "`prefect deployment ls` lists them, `prefect deployment delete NAME` deletes one"
WORKING_DIRECTORY = "prefect.deployments.steps.set_working_directory"
# What a deployment is, besides its schedules and its limit.
FIELDS = {
    *("entrypoint", "parameters", "parameter_openapi_schema", "job_variables", "pull_steps", "tags"),
    *("work_pool_name", "description"),
}
Kind = Literal["created", "changed", "unchanged", "left", "removed"]
Deployments = Mapping[str, DeploymentResponse]
"""Flow name/deployment name -> the deployment on the server."""


@dataclass(frozen=True)
class Change:
    """One thing on the server, and what `deploy` or `undeploy` did to it."""

    kind: Kind
    """`left`: it differs from what was asked for, and was not touched."""
    what: str
    note: str = ""

    def render(self) -> str:
        """Return a line such as `created    pool pretexeval-gpu (process, 1 at once)`."""
        return f"{self.kind:<10} {self.what}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Registration:
    """What is registered: a configuration of an installation, and the folder in which its runs start."""

    installation: InstallationNames
    config_file: Path
    home: Path
    root: Path
    """The data folder, relative to `home` unless it is absolute."""
    schedule: ScheduleConfig
    pools: tuple[str, ...] = ()
    """The work pools of its models and of its workers, besides the default one."""

    @property
    def pool_names(self) -> list[tuple[str, str, str]]:
        """The deployments for these pools: flow name, name of the deployment, and the pool's role."""
        return [
            (flow, self.installation.name_subflow(pool), pool) for pool in self.pools for flow in MODEL_FLOWS
        ]

    @property
    def names(self) -> list[str]:
        """The deployments, as flow name/deployment name: the schedule of the configuration comes first."""
        schedule = self.installation.name_schedule(self.config_file)
        subflows = [f"{flow}/{self.installation.name_subflow()}" for flow in SUBFLOWS]
        return [
            f"{SCHEDULED_FLOW}/{schedule}",
            *subflows,
            *(f"{flow}/{name}" for flow, name, _ in self.pool_names),
        ]


def read_deployments(client: SyncPrefectClient, names: Sequence[str]) -> dict[str, DeploymentResponse]:
    """Return those of the deployments that exist on the server."""
    found = {}
    for name in names:
        try:
            found[name] = client.read_deployment_by_name(name)
        except ObjectNotFound:
            continue
    return found


def list_own(client: SyncPrefectClient, installation: InstallationNames) -> dict[str, DeploymentResponse]:
    """Return all deployments of the installation on the server."""
    tagged = DeploymentFilter(tags=DeploymentFilterTags(all_=[installation.tag]))
    found = client.read_deployments(deployment_filter=tagged)
    return {f"{client.read_flow(each.flow_id).name}/{each.name}": each for each in found}


def require_own(full_name: str, deployment: DeploymentResponse, registration: Registration) -> None:
    """Check that a deployment may be replaced.

    Raises:
        InputError: if it belongs to another team, another folder or another configuration.
    """
    name = registration.installation.name
    if registration.installation.tag not in deployment.tags:
        raise InputError(
            f"the deployment {full_name} on this server was not registered by an installation named "
            f"{name!r}; give this installation another name: --installation NAME"
        )
    steps = [step[WORKING_DIRECTORY] for step in deployment.pull_steps or [] if WORKING_DIRECTORY in step]
    home = steps[0].get("directory") if steps else None
    if home != str(registration.home):
        raise InputError(
            f"the installation {name!r} on this server runs in {home}, not in "
            f"{registration.home}; give this installation another name (--installation NAME), or, if it has "
            f"moved from there, delete its deployments first: {DELETE}"
        )
    # A deployment without a file runs any configuration that it is given.
    file = deployment.parameters.get("config_file")
    ours = os.path.normpath(registration.home / registration.config_file)
    if file is not None and os.path.normpath(registration.home / file) != ours:
        raise InputError(
            f"the deployment {full_name} runs {file}; deployments are named "
            "after the configuration: rename one of the two files, or, if the file has moved, delete this "
            f"deployment first: {DELETE}"
        )


def compare(before: Deployments, after: Deployments, names: Sequence[str]) -> list[Change]:
    """Return what happened to each deployment.

    Raises:
        InputError: if one was not created.
    """
    if missing := [name for name in names if name not in after]:
        raise InputError(f"Prefect did not create {', '.join(missing)}; run `pretexeval deploy` again")
    changes = []
    for name in names:
        is_same = name in before and _describe(before[name]) == _describe(after[name])
        kind: Kind = "unchanged" if is_same else "changed" if name in before else "created"
        times = [describe_times(each[name]) for each in (before, after) if name in each]
        note = times[-1] if times[0] == times[-1] else f"{times[0]} before, now {times[-1]}"
        changes.append(Change(kind, f"deployment {name}", note))
    return changes


def describe_times(deployment: DeploymentResponse) -> str:
    """Return when a deployment runs, such as `0 3 * * 1 Etc/UTC`; empty if it has no schedule."""
    times = []
    for each in deployment.schedules:
        cron = each.schedule
        time = f"{cron.cron} {cron.timezone}" if isinstance(cron, CronSchedule) else "another schedule"
        times.append(time if each.active else f"{time}, switched off")
    return "; ".join(sorted(times))


def _describe(deployment: DeploymentResponse) -> dict[str, Any]:
    limit = deployment.global_concurrency_limit
    schedules = [(repr(each.schedule), each.slug, each.active) for each in deployment.schedules]
    return deployment.model_dump(mode="json", include=FIELDS) | {
        "schedules": sorted(schedules, key=str),
        "limit": limit.limit if limit else None,
    }
