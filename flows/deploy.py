"""Registers everything with a Prefect server: the pools and their limits, the deployments, the automation.

May be run again at any time: what is there is brought up to date, and nothing is made twice.
"""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from prefect.automations import Automation
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectAlreadyExists

from schemas.errors import InputError

PROJECT = Path(__file__).parents[1]
LOST_WORKER = "pretexeval: crash what lost its worker"
# Heartbeats come every 30 s (PREFECT_FLOWS_HEARTBEAT_FREQUENCY); three in a row are missing.
SILENCE = timedelta(seconds=90)


def deploy(config_file: Path, n_gpus: int, pool_type: str = "process") -> None:
    """Make the pools `cpu` and `gpu`, set their limits, deploy all flows, watch for lost workers.

    Args:
        n_gpus: how many runs the pool `gpu` takes at once.

    Raises:
        InputError: if there is no server to register with, or Prefect refuses a deployment.
    """
    if "PREFECT_API_URL" not in os.environ:
        raise InputError("PREFECT_API_URL is not set: name the server to register with")
    with get_client(sync_client=True) as client:
        # The pools first: `prefect deploy --all` passes over a deployment whose pool is missing.
        _provide_pool(client, "cpu", pool_type, None)
        _provide_pool(client, "gpu", pool_type, n_gpus)
        _provide_automation(client)
    _deploy_flows(config_file)


def _provide_pool(client: SyncPrefectClient, name: str, pool_type: str, limit: int | None) -> None:
    try:
        client.create_work_pool(WorkPoolCreate(name=name, type=pool_type, concurrency_limit=limit))
    except ObjectAlreadyExists:
        client.update_work_pool(name, WorkPoolUpdate(concurrency_limit=limit))


def _deploy_flows(config_file: Path) -> None:
    paths = {"PRETEXEVAL_HOME": str(Path.cwd()), "PRETEXEVAL_CONFIG": str(config_file)}
    command = ["--no-prompt", "deploy", "--all", "--prefect-file", str(PROJECT / "prefect.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *command],
        cwd=PROJECT,
        env=os.environ | paths | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(f"Prefect refused the deployments:\n{done.stdout}{done.stderr}")


def _provide_automation(client: SyncPrefectClient) -> None:
    """Have the server mark runs as crashed whose heartbeats end: whoever waits for them goes on."""
    ends = {f"prefect.flow-run.{name}" for name in ("Completed", "Failed", "Cancelled", "Crashed")}
    automation = Automation(
        name=LOST_WORKER,
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *ends},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
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
    known = client.request("POST", "/automations/filter", json={}).json()
    if LOST_WORKER not in [each["name"] for each in known]:
        client.request("POST", "/automations/", json=automation.model_dump(mode="json", exclude={"id"}))
