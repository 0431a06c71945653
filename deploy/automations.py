"""The automations of Prefect's server: mark runs without a worker as crashed, and retry `regenerate`."""

from datetime import timedelta
from typing import Any

from prefect.automations import Automation
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

# Heartbeats come every 30 s (PREFECT_FLOWS_HEARTBEAT_FREQUENCY): three in a row are missing.
SILENCE = timedelta(seconds=90)
ANY_RUN = ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]})
ENDS = {f"prefect.flow-run.{name}" for name in ("Completed", "Failed", "TimedOut", "Cancelled", "Crashed")}

CRASH_LOST = Automation(
    name="pretexeval: crash what lost its worker",
    description="Marks a run whose heartbeats stop as crashed, so that nothing waits for it any longer.",
    trigger=EventTrigger(
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.heartbeat", *ENDS},
        match=ANY_RUN,
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
# The retry is the same run, so it makes the edition of the same week, however late it is. The flow itself
# limits the number of retries.
BEGIN_AGAIN = Automation(
    name="pretexeval: begin a crashed regenerate again",
    description="Retries the flow, which reuses complete results and starts missing evaluations again.",
    trigger=EventTrigger(
        expect={"prefect.flow-run.Crashed"},
        match=ANY_RUN,
        match_related=ResourceSpecification(
            {"prefect.resource.role": ["flow"], "prefect.resource.name": ["regenerate"]}
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


def provide_automations(client: SyncPrefectClient) -> None:
    """Create or update both automations; one that was switched off stays off."""
    for automation in (CRASH_LOST, BEGIN_AGAIN):
        body = automation.model_dump(mode="json", exclude={"id", "owner_resource"})
        named = {"automations": {"name": {"any_": [automation.name]}}}
        known: list[dict[str, Any]] = client.request("POST", "/automations/filter", json=named).json()
        if not known:
            client.request("POST", "/automations/", json=body)
        for each in known:
            kept = {"enabled": each["enabled"]}
            client.request("PUT", "/automations/{id}", path_params={"id": each["id"]}, json=body | kept)
