"""The automations of an installation: mark runs without a worker as crashed, and retry `regenerate`.

They act on the runs of this installation only, because other teams may use the same server: a healthy run of
theirs sends a heartbeat every 180 s, which is Prefect's default.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.automations import Automation
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterTags,
    FlowFilter,
    FlowFilterName,
)
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from commands.deploy.owned import SCHEDULED_FLOW, Change
from pretexeval.config.installation_names import InstallationNames

# Heartbeats come every 30 s (PREFECT_FLOWS_HEARTBEAT_FREQUENCY): three in a row are missing.
SILENCE = timedelta(seconds=90)
ANY_RUN = ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]})
ENDS = {f"prefect.flow-run.{name}" for name in ("Completed", "Failed", "TimedOut", "Cancelled", "Crashed")}
TITLES = ("crash what lost its worker", "begin a crashed regenerate again")

Row = dict[str, Any]


def build_crash_lost(installation: InstallationNames) -> Automation:
    """Return the automation that marks runs with the tag of the installation as crashed."""
    return Automation(
        name=f"{installation.name}: {TITLES[0]}",
        description="Marks a run whose heartbeats stop as crashed, so that nothing waits for it any longer.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *ENDS},
            match=ANY_RUN,
            match_related=ResourceSpecification(
                {
                    "prefect.resource.role": ["tag"],
                    "prefect.resource.id": [f"prefect.tag.{installation.tag}"],
                }
            ),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED, name="Crashed", message="its worker was lost", force=False
            )
        ],
    )


def build_begin_again(installation: InstallationNames, deployment_ids: Sequence[UUID]) -> Automation:
    """Return the automation that retries crashed runs of these deployments.

    The retry is the same run, so it makes the edition of the same period, however late it is. The flow itself
    limits the number of retries.
    """
    return Automation(
        name=f"{installation.name}: {TITLES[1]}",
        description="Retries the flow, which reuses complete results and starts missing evaluations again.",
        trigger=EventTrigger(
            expect={"prefect.flow-run.Crashed"},
            match=ANY_RUN,
            match_related=ResourceSpecification(
                {
                    "prefect.resource.role": ["deployment"],
                    "prefect.resource.id": sorted(f"prefect.deployment.{each}" for each in deployment_ids),
                }
            ),
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(0),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.SCHEDULED,
                name="AwaitingRetry",
                message="its worker was lost: it is retried",
                force=False,
            )
        ],
    )


def provide_automations(client: SyncPrefectClient, installation: InstallationNames) -> list[Change]:
    """Create or update both automations; one that was switched off stays off.

    Call this after the deployments are registered: the second one names the `regenerate` of every
    configuration of the installation.
    """
    scheduled = client.read_deployments(
        flow_filter=FlowFilter(name=FlowFilterName(any_=[SCHEDULED_FLOW])),
        deployment_filter=DeploymentFilter(tags=DeploymentFilterTags(all_=[installation.tag])),
    )
    automations = (
        build_crash_lost(installation),
        build_begin_again(installation, [each.id for each in scheduled]),
    )
    return [_provide(client, automation) for automation in automations]


def _provide(client: SyncPrefectClient, automation: Automation) -> Change:
    what = f'automation "{automation.name}"'
    body = _dump(automation)
    known = _find(client, automation.name)
    if not known:
        client.request("POST", "/automations/", json=body)
        return Change("created", what)
    is_same = True
    for each in known:
        if _parse(each) == _parse(body):
            continue
        is_same = False
        kept = {"enabled": each["enabled"]}
        client.request("PUT", "/automations/{id}", path_params={"id": each["id"]}, json=body | kept)
    return Change("unchanged" if is_same else "changed", what)


def _find(client: SyncPrefectClient, name: str) -> list[Row]:
    named = {"automations": {"name": {"any_": [name]}}}
    known: list[Row] = client.request("POST", "/automations/filter", json=named).json()
    return known


def _dump(automation: Automation) -> Row:
    return automation.model_dump(mode="json", exclude={"id", "owner_resource"})


def _parse(row: Row) -> tuple[object, ...]:
    """Return what makes the automation, without ids and without whether it is enabled."""
    parsed = Automation.model_validate(
        {key: row[key] for key in ("name", "description", "trigger", "actions")}
    )
    return parsed.description, parsed.trigger, parsed.actions
