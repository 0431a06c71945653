"""A real server with the settings of an installation: what it notifies a web hook of, and what it keeps."""

import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from commands.deploy.automations import build_begin_again, build_fail_unstarted
from commands.deploy.local.client_settings import PASSWORD_VARIABLE, SERVER_PASSWORD_VARIABLE, create_password
from commands.deploy.local.services import DEFAULTS, SERVER_FILE
from commands.prefect_server import HISTORY, SETTINGS
from pretexeval.config.installation_names import InstallationNames
from tests.commands.deploy.prefect_api import PrefectApi, Row
from tests.support.command import REPOSITORY, build_environment
from tests.support.endpoint import Endpoint, EndpointReply, serve_endpoint
from tests.support.fault_models import wait_until
from tests.support.installation import MAKE_BLOCK
from tests.support.processes import find_free_port, wait_until_served

pytestmark = pytest.mark.long

INSTALLATION = InstallationNames("notified")
FILE = REPOSITORY / "commands" / "deploy" / "automations.yaml"
REASON = "2 of 5 models failed on starter-2026-W47: first: the key is refused; second: no answer in 60 s"
FAILED = {"type": "FAILED", "name": "Failed", "message": REASON}
COMPLETED, RUNNING, CRASHED = {"type": "COMPLETED"}, {"type": "RUNNING"}, {"type": "CRASHED"}
# No worker takes the run for an hour.
NOT_TAKEN = {"type": "SCHEDULED"}
# The outcomes of the runs of a deployment, each with the states of a run -> the messages about them.
SEQUENCES: dict[str, list[tuple[list[dict[str, str]], list[str]]]] = {
    "fails twice": [
        ([RUNNING, FAILED], ["Failed"]),
        ([RUNNING, FAILED], ["Failed"]),
        ([RUNNING, COMPLETED], ["well again"]),
        ([RUNNING, COMPLETED], []),
    ],
    "is well": [([RUNNING, CRASHED, RUNNING, COMPLETED], []), ([RUNNING, COMPLETED], [])],
    "takes too long": [
        ([RUNNING, {"type": "FAILED", "name": "TimedOut"}], ["TimedOut"]),
        ([RUNNING, {"type": "CANCELLED"}], []),
        ([RUNNING, CRASHED, RUNNING, COMPLETED], ["well again"]),
    ],
    "begins late": [
        ([NOT_TAKEN, RUNNING, COMPLETED], ["Late", "well again"]),
        ([RUNNING, CRASHED, NOT_TAKEN, RUNNING, COMPLETED], ["Late", "well again"]),
        ([RUNNING, FAILED], ["Failed"]),
    ],
    "crashes before it runs": [
        ([{"type": "PENDING"}, CRASHED], ["Failed"]),
        ([RUNNING, COMPLETED], ["well again"]),
    ],
}


class Server(PrefectApi):
    """A running server with a history of its own."""

    def __init__(self, environment: dict[str, str], history: Path) -> None:
        super().__init__(environment)
        self.environment, self.history = environment, history

    def change(self, statement: str, *values: object) -> None:
        """Change the history, to make something older than it is."""
        with closing(sqlite3.connect(self.history, timeout=60)) as connection, connection:
            assert connection.execute(statement, values).rowcount > 0


@contextmanager
def run_server(home: Path, settings: Mapping[str, str]) -> Iterator[Server]:
    """Run the server of an installation or of a command, which looks for old runs every second."""
    port, password = find_free_port(), create_password()
    address = f"http://127.0.0.1:{port}/api"
    ours = {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": address,
        PASSWORD_VARIABLE: password,
        SERVER_PASSWORD_VARIABLE: password,
        "PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS": "1",
    }
    environment = build_environment({**settings, **ours})
    command = [sys.executable, "-P", str(SERVER_FILE), "--port", str(port), "--log-level", "error"]
    log = home / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, env=environment, stdout=output, stderr=output) as it,
    ):
        try:
            wait_until_served(it, f"{address}/health", log)
            yield Server(environment, home / HISTORY)
        finally:
            it.terminate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of an installation."""
    with run_server(tmp_path_factory.mktemp("installation"), DEFAULTS) as running:
        yield running


@pytest.fixture
def server_of_command(tmp_path: Path) -> Iterator[Server]:
    with run_server(tmp_path, SETTINGS) as running:
        yield running


@pytest.fixture
def hook() -> Iterator[Endpoint]:
    with serve_endpoint(lambda _, __: EndpointReply(body={})) as receiver:
        yield receiver


def create_deployment(server: Server, flow: str, name: str) -> str:
    body = {"name": name, "flow_id": server.create_flow(flow), "tags": ["pretexeval", INSTALLATION.tag]}
    return str(server.post("/deployments/", **body)["id"])


def run_deployment(server: Server, deployment: str, name: str, states: list[Row]) -> None:
    """Create a run, and lead it through the states; after a crash, wait until it is scheduled again."""
    run = server.start_run(deployment, name=name)["id"]

    def wait_for_server(was: str) -> None:
        """Wait until the server itself has changed the state."""
        path = f"/flow_runs/{run}"
        wait_until(lambda: server.get(path)["state_name"] != was, f"{name} is no longer {was}", 90)

    for state in states:
        if state == NOT_TAKEN:
            an_hour_ago = str(datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=1))
            server.change("update flow_run set next_scheduled_start_time = ? where id = ?", an_hour_ago, run)
            wait_for_server("Scheduled")
            continue
        server.set_state(run, state)
        if state == CRASHED:
            wait_for_server("Crashed")


def test_a_failed_run_sends_one_message_and_the_next_good_one_another(
    server: Server, hook: Endpoint, tmp_path: Path
) -> None:
    """The notifications are created with the commands of docs/operations.md."""
    python, environment = [sys.executable, "-m", "prefect", "automation", "create"], server.environment
    make_block = [sys.executable, "-c", MAKE_BLOCK, hook.base_url]
    block = subprocess.run(make_block, env=environment, capture_output=True, text=True, check=True).stdout
    file = tmp_path / "automations.yaml"
    file.write_text(FILE.read_text().replace("BLOCK\n", f"{block.strip()}\n"))
    subprocess.run([*python, "--from-file", str(file)], env=environment, capture_output=True, check=True)
    deployments = {name: create_deployment(server, "regenerate", name) for name in SEQUENCES}
    for build in (build_begin_again, build_fail_unstarted):
        automation = build(INSTALLATION, [UUID(each) for each in deployments.values()])
        server.post("/automations/", **automation.model_dump(mode="json"))
    child = create_deployment(server, "evaluate-model", "notified")
    for name, outcomes in SEQUENCES.items():
        run_deployment(server, child, f"child of {name}", [FAILED])
        for states, _ in outcomes:
            run_deployment(server, deployments[name], name, states)
    run_deployment(server, create_deployment(server, "regenerate", "last"), "last", [FAILED])

    def read_notes() -> list[Row]:
        return [note for *_, note in hook.requests]

    expected = [
        f"{name}: {what}" for name, outcomes in SEQUENCES.items() for _, caused in outcomes for what in caused
    ]
    expected.append("last: Failed")
    # The server evaluates its automations one after another, so that the last failure can be told first.
    wait_until(lambda: len(read_notes()) >= len(expected), "all messages")
    assert Counter(note["subject"] for note in read_notes()) == Counter(expected)
    bodies = [note["body"] for note in read_notes() if note["subject"].endswith(": Failed")]
    assert sum(REASON in body for body in bodies) == len(bodies) - 1
    assert sum("before the flow began" in body for body in bodies) == 1


def record_run(server: Server) -> dict[str, str]:
    """Record a run that has started another one, with a log line and an artifact; return the runs' ids."""
    flow_id = server.create_flow("regenerate")
    parent = server.post("/flow_runs/", flow_id=flow_id)["id"]
    task_run = server.post("/task_runs/", flow_run_id=parent, task_key="child", dynamic_key="0")["id"]
    child = server.post("/flow_runs/", flow_id=flow_id, parent_task_run_id=task_run)["id"]
    for run in (child, parent):
        for state in (RUNNING, COMPLETED):
            server.set_state(run, state)
        line = {"name": "x", "level": 20, "message": "x", "timestamp": str(datetime.now(UTC))}
        server.ask("POST", "/logs/", [line | {"flow_run_id": run}])
        server.post("/artifacts/", key=f"key-{run}", type="markdown", flow_run_id=run)
    wait_until(lambda: count_records(server, parent)["events"] >= 2, "events are stored", 60)
    return {"parent": parent, "child": child}


def count_records(server: Server, run: str) -> dict[str, int]:
    of_run = {"flow_run_id": {"any_": [run]}}
    about = {"any_resource": {"id": [f"prefect.flow-run.{run}"]}}
    return {
        "runs": len(server.post("/flow_runs/filter", flow_runs={"id": {"any_": [run]}})),
        "logs": len(server.post("/logs/filter", logs=of_run)),
        "artifacts": len(server.post("/artifacts/filter", artifacts=of_run)),
        "keys": len(server.post("/artifacts/latest/filter", artifacts=of_run)),
        "events": len(server.post("/events/filter", filter=about)["events"]),
    }


@pytest.mark.parametrize("name", ["server", "server_of_command"])
def test_an_old_run_goes_with_its_logs_artifacts_and_events(
    name: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(name)
    old, recent = record_run(server), record_run(server)
    before = {run: count_records(server, run) for run in recent.values()}
    assert all(n > 0 for counts in before.values() for n in counts.values())
    # Of the events of a run, those of its state have its id as their resource.
    for run in old.values():
        ended = str(datetime.now(UTC).replace(tzinfo=None) - timedelta(days=91))
        server.change("update flow_run set end_time = ? where id = ?", ended, run)
        resource = f"prefect.flow-run.{run}"
        server.change("update events set occurred = ? where resource_id = ?", ended, resource)
        server.change("update event_resources set occurred = ? where resource_id = ?", ended, resource)
    wait_until(lambda: not any(any(count_records(server, run).values()) for run in old.values()), "gone", 60)
    assert {run: count_records(server, run) for run in recent.values()} == before
