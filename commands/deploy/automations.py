"""The automations of an installation: mark runs without a worker as crashed, and retry or fail `regenerate`.

They act on the runs of this installation only, because other teams may use the same server: a healthy run of
theirs sends a heartbeat every 180 s, which is Prefect's default.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from commands.deploy.owned import SCHEDULED_FLOW, Change, list_own
from pretexeval.config.installation_names import InstallationNames

# Heartbeats come every 30 s (PREFECT_FLOWS_HEARTBEAT_FREQUENCY): three in a row are missing.
SILENCE = timedelta(seconds=90)
ANY_RUN = ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]})
ENDS = {f"prefect.flow-run.{name}" for name in ("Completed", "Failed", "TimedOut", "Cancelled", "Crashed")}


def build_crash_lost(installation: InstallationNames) -> AutomationCore:
    """Return the automation that marks runs with the tag of the installation as crashed."""
    return AutomationCore(
        name=f"{installation.name}: crash what lost its worker",
        description="Marks a run whose heartbeats stop as crashed, so that nothing waits for it any longer.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *ENDS},
            match=ANY_RUN,
            match_related=_specify("tag", [f"prefect.tag.{installation.tag}"]),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[_set_state(StateType.CRASHED, "its worker was lost")],
    )


def build_begin_again(installation: InstallationNames, deployment_ids: Sequence[UUID]) -> AutomationCore:
    """Return the automation that retries crashed runs of these deployments.

    The retry is the same run, so it makes the edition of the same period, however late it is. The flow itself
    limits the number of retries. The state has the name by which Prefect finds runs that no worker takes.
    """
    return AutomationCore(
        name=f"{installation.name}: begin a crashed regenerate again",
        description="Retries the flow, which reuses complete results and starts missing evaluations again.",
        trigger=_build_crash_trigger(deployment_ids, "!0"),
        actions=[_set_state(StateType.SCHEDULED, "its worker was lost: it is retried")],
    )


def build_fail_unstarted(installation: InstallationNames, deployment_ids: Sequence[UUID]) -> AutomationCore:
    """Return the automation that fails runs of these deployments whose flow cannot be loaded.

    Their process ends before the flow runs, so the flow cannot limit the number of retries.
    """
    return AutomationCore(
        name=f"{installation.name}: fail a regenerate that cannot start",
        description="Marks a run as failed that crashed before the flow began.",
        trigger=_build_crash_trigger(deployment_ids, "0"),
        actions=[
            _set_state(
                StateType.FAILED,
                "its process ended before the flow began; see the log of the run or of its worker",
            )
        ],
    )


def _set_state(state: StateType, message: str) -> ChangeFlowRunState:
    """Return the action that sets the state, under the name that Prefect itself gives to it."""
    return ChangeFlowRunState(state=state, name=state.name.capitalize(), message=message, force=False)


def _build_crash_trigger(deployment_ids: Sequence[UUID], run_count: str) -> EventTrigger:
    """Return the trigger for crashed runs of these deployments.

    Args:
        run_count: how often the flow has begun; with a leading `!`, any other number.
    """
    return EventTrigger(
        expect={"prefect.flow-run.Crashed"},
        match=ResourceSpecification({**ANY_RUN.root, "prefect.run-count": [run_count]}),
        match_related=_specify("deployment", sorted(f"prefect.deployment.{each}" for each in deployment_ids)),
        for_each={"prefect.resource.id"},
        posture=Posture.Reactive,
        threshold=1,
        within=timedelta(0),
    )


def _build_all(installation: InstallationNames, deployment_ids: Sequence[UUID]) -> list[AutomationCore]:
    return [
        build_crash_lost(installation),
        build_begin_again(installation, deployment_ids),
        build_fail_unstarted(installation, deployment_ids),
    ]


def _specify(role: str, ids: list[str]) -> ResourceSpecification:
    return ResourceSpecification({"prefect.resource.role": [role], "prefect.resource.id": ids})


def provide_automations(client: SyncPrefectClient, installation: InstallationNames) -> list[Change]:
    """Create or update the automations; one that was switched off stays off.

    Call this after the deployments are registered: two automations name the `regenerate` of every
    configuration of the installation.
    """
    own = list_own(client, installation)
    scheduled = [own[name].id for name in own if name.startswith(f"{SCHEDULED_FLOW}/")]
    automations = _build_all(installation, scheduled)
    return [_provide(client, automation) for automation in automations]


def remove_automations(client: SyncPrefectClient, installation: InstallationNames) -> list[Change]:
    """Remove the automations, as far as they exist."""
    built = _build_all(installation, ())
    known = [found for each in built for found in client.read_automations_by_name(each.name)]
    for automation in known:
        client.delete_automation(automation.id)
    return [Change("removed", f'automation "{automation.name}"') for automation in known]


def _provide(client: SyncPrefectClient, automation: AutomationCore) -> Change:
    what = f'automation "{automation.name}"'
    known = client.read_automations_by_name(automation.name)
    if not known:
        client.create_automation(automation)
        return Change("created", what)
    different = [each for each in known if _describe(each) != _describe(automation)]
    for each in different:
        client.update_automation(each.id, automation.model_copy(update={"enabled": each.enabled}))
    return Change("changed" if different else "unchanged", what)


def _describe(automation: AutomationCore) -> dict[str, Any]:
    return automation.model_dump(include={"description", "trigger", "actions"})
