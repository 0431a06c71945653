"""The notifications of commands/deploy/automations.yaml, on a real server with a real web hook."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import SyncPrefectClient

from commands.deploy.automations import build_begin_again, build_fail_unstarted
from pretexeval.config.installation_names import InstallationNames
from tests.support.command import REPOSITORY, build_environment
from tests.support.endpoint import Endpoint, EndpointReply, serve_endpoint
from tests.support.fault_models import wait_until
from tests.support.installation import MAKE_BLOCK

pytestmark = pytest.mark.slow

INSTALLATION = InstallationNames("notified")
FILE = REPOSITORY / "commands" / "deploy" / "automations.yaml"
REASON = "2 of 5 models failed on starter-2026-W47: first: the key is refused; second: no answer in 60 s"
FAILED = {"type": "FAILED", "name": "Failed", "message": REASON}
COMPLETED, RUNNING, CRASHED = {"type": "COMPLETED"}, {"type": "RUNNING"}, {"type": "CRASHED"}
# The states of a run, and the messages that they cause.
OUTCOMES: dict[str, tuple[list[dict[str, str]], list[str]]] = {
    "completed": ([RUNNING, COMPLETED], []),
    "cancelled": ([RUNNING, {"type": "CANCELLED"}], []),
    "failed": ([RUNNING, FAILED], ["Failed"]),
    "timed out": ([RUNNING, {"type": "FAILED", "name": "TimedOut"}], ["TimedOut"]),
    "crashed, then completed": ([RUNNING, CRASHED, RUNNING, COMPLETED], []),
    "late, then completed": ([{"type": "SCHEDULED", "name": "Late"}, RUNNING, COMPLETED], ["Late"]),
    "crashed before it ran": ([{"type": "PENDING"}, CRASHED], ["Failed"]),
}
SEQUENCES = [
    ("failed", "failed", "completed", "completed"),
    ("crashed, then completed", "completed"),
    ("timed out", "cancelled", "crashed, then completed"),
    ("late, then completed", "failed"),
    ("crashed before it ran", "completed"),
]
Row = dict[str, Any]


@pytest.fixture
def server(prefect_server: dict[str, str]) -> Iterator[SyncPrefectClient]:
    # It sends a request again while another one has locked SQLite.
    with SyncPrefectClient(prefect_server["PREFECT_API_URL"]) as client:
        yield client


@pytest.fixture
def hook() -> Iterator[Endpoint]:
    with serve_endpoint(lambda _, __: EndpointReply(body={})) as receiver:
        yield receiver


def send(server: SyncPrefectClient, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
    answer = server.request(method, path, json=body)
    return answer.json() if answer.content else None


@pytest.fixture
def create_notifications(
    prefect_server: dict[str, str], server: SyncPrefectClient, hook: Endpoint, tmp_path: Path
) -> Iterator[None]:
    """Create the notifications with the commands of docs/operations.md, and remove them after the test."""
    environment = build_environment(prefect_server)
    make_block = [sys.executable, "-c", MAKE_BLOCK, hook.base_url]
    block = subprocess.run(make_block, env=environment, capture_output=True, text=True, check=True).stdout
    file = tmp_path / "automations.yaml"
    file.write_text(FILE.read_text().replace("BLOCK\n", f"{block.strip()}\n"))
    create = [sys.executable, "-m", "prefect", "automation", "create", "--from-file", str(file)]
    subprocess.run(create, env=environment, capture_output=True, check=True)
    yield
    # Other tests of the session use the server too.
    ours = (f"{INSTALLATION.name}:", "pretexeval: regenerate ", "pretexeval: a score ")
    for automation in send(server, "POST", "/automations/filter", {}):
        if automation["name"].startswith(ours):
            send(server, "DELETE", f"/automations/{automation['id']}")


def create_deployment(server: SyncPrefectClient, flow: str, name: str) -> str:
    flow_id = send(server, "POST", "/flows/", {"name": flow})["id"]
    body = {"name": name, "flow_id": flow_id, "tags": ["pretexeval", INSTALLATION.tag]}
    return str(send(server, "POST", "/deployments/", body)["id"])


def run_deployment(server: SyncPrefectClient, deployment: str, name: str, states: list[Row]) -> None:
    """Create a run, and lead it through the states; after a crash, wait until it is scheduled again."""
    run = send(server, "POST", f"/deployments/{deployment}/create_flow_run", {"name": name})["id"]
    for state in states:
        send(server, "POST", f"/flow_runs/{run}/set_state", {"state": state, "force": True})
        if state["type"] == "CRASHED":
            wait_until(
                lambda: send(server, "GET", f"/flow_runs/{run}")["state_type"] != "CRASHED", "reaction", 90
            )


def predict(outcomes: tuple[str, ...]) -> list[str]:
    """Return the messages about the runs of one deployment."""
    messages, is_failed = list[str](), False
    for outcome in outcomes:
        states, caused = OUTCOMES[outcome]
        messages += caused
        is_failed = is_failed or bool(caused)
        if states[-1] == COMPLETED and is_failed:
            messages.append("well again")
            is_failed = False
    return messages


@pytest.mark.usefixtures("create_notifications")
def test_a_failed_run_sends_one_message_and_the_next_good_one_another(
    server: SyncPrefectClient, hook: Endpoint
) -> None:
    deployments = {name: create_deployment(server, "regenerate", name) for name in map("; ".join, SEQUENCES)}
    for build in (build_begin_again, build_fail_unstarted):
        automation = build(INSTALLATION, [UUID(each) for each in deployments.values()])
        send(server, "POST", "/automations/", automation.model_dump(mode="json"))
    child = create_deployment(server, "evaluate-model", "notified")
    for outcomes in SEQUENCES:
        name = "; ".join(outcomes)
        run_deployment(server, child, f"child of {name}", [FAILED])
        for outcome in outcomes:
            run_deployment(server, deployments[name], name, OUTCOMES[outcome][0])
    run_deployment(server, create_deployment(server, "regenerate", "last"), "last", [FAILED])

    def read_notes() -> list[Row]:
        notes = [note for *_, note in hook.requests]
        return [note for note in notes if note["subject"].partition(": ")[0] in {*deployments, "last"}]

    wait_until(lambda: "last: Failed" in [note["subject"] for note in read_notes()], "the last message", 90)
    found = Counter(note["subject"] for note in read_notes())
    expected = [f"{name}: {what}" for name in deployments for what in predict(tuple(name.split("; ")))]
    assert found == Counter([*expected, "last: Failed"])
    bodies = [note["body"] for note in read_notes() if note["subject"].endswith(": Failed")]
    assert sum(REASON in body for body in bodies) == len(bodies) - 1
    assert sum("before the flow began" in body for body in bodies) == 1
