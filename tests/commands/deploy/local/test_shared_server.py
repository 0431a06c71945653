"""Two installations and a foreign team on one server: nothing foreign changes, and nobody else gets in."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from commands.deploy.local.client_settings import authorize
from commands.deploy.local.installation import Installation
from pretexeval.storage.layout import LOGS_FOLDER
from tests.support.command import Outcome, find_processes, run_process_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

PASSWORD = "PREFECT_API_AUTH_STRING"
# The limits of the foreign team's pools.
FOREIGN_LIMITS = {"cpu": 3, "gpu": 7}
Row = dict[str, Any]


def send(
    installation: Installation, method: str, path: str, body: object = None, **headers: str
) -> httpx.Response:
    """Send a request, with the password unless the headers contain another."""
    known = {"Authorization": authorize(installation.environment) or ""}
    with httpx.Client(base_url=installation.api_url, trust_env=False, timeout=30) as client:
        return client.request(method, path, json=body, headers=known | headers)


class Team:
    """What somebody has on the server."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        answer = send(self.installation, method, path, body).raise_for_status()
        return answer.json() if answer.content else None

    def start_run(self, flow: str, deployment: str | None = None, tags: tuple[str, ...] = ()) -> Row:
        """Return a run of the flow that is running and has sent one heartbeat; tags as on the server."""
        if deployment is not None:
            row = self.ask("GET", f"deployments/name/{flow}/{deployment}")
            run = self.ask("POST", f"deployments/{row['id']}/create_flow_run", {})
        else:
            flow_id = self.ask("POST", "flows/", {"name": flow})["id"]
            run = self.ask("POST", "flow_runs/", {"flow_id": flow_id, "tags": list(tags)})
        self.set_state(run, "RUNNING")
        heartbeat = {
            "event": "prefect.flow-run.heartbeat",
            "occurred": datetime.now(UTC).isoformat(),
            "resource": {"prefect.resource.id": f"prefect.flow-run.{run['id']}"},
            "related": [
                {"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"}
                for tag in run["tags"]
            ],
            "id": run["id"],
        }
        self.ask("POST", "events", [heartbeat])
        return dict(run)

    def set_state(self, run: Row, state: str) -> None:
        body = {"state": {"type": state}, "force": True}
        self.ask("POST", f"flow_runs/{run['id']}/set_state", body)

    def read_state(self, run: Row) -> str:
        return str(self.ask("GET", f"flow_runs/{run['id']}")["state_name"])

    def wait_for(self, run: Row, state: str, timeout_s: float = 60) -> None:
        deadline = time.monotonic() + timeout_s
        while (found := self.read_state(run)) != state:
            assert time.monotonic() < deadline, f"{found}, not {state}, after {timeout_s:g} s"
            time.sleep(0.5)

    def shorten_silence(self, name: str) -> None:
        """Let the automation wait 10 s, the shortest time, and not 90 s."""
        (row,) = self.ask("POST", "automations/filter", {"automations": {"name": {"any_": [name]}}})
        body = {key: row[key] for key in ("name", "description", "enabled", "actions")}
        self.ask("PUT", f"automations/{row['id']}", body | {"trigger": row["trigger"] | {"within": 10}})


class ForeignTeam(Team):
    """A team with names like ours: pools cpu and gpu, a flow `regenerate`."""

    def register(self) -> None:
        for name, limit in FOREIGN_LIMITS.items():
            self.ask("POST", "work_pools/", {"name": name, "type": "process", "concurrency_limit": limit})
        for flow, name in (("regenerate", "regenerate"), ("publish", "nightly")):
            flow_id = self.ask("POST", "flows/", {"name": flow})["id"]
            body = {"flow_id": flow_id, "name": name, "work_pool_name": "cpu", "tags": ["theirs"]}
            self.ask("POST", "deployments/", body)
        self.ask("POST", "v2/concurrency_limits/", {"name": "gpu", "limit": 7})

    def describe(self) -> dict[str, Any]:
        """Return all that they have, without what the server changes by itself."""
        rows = {
            **{f"pool {name}": self.ask("GET", f"work_pools/{name}") for name in FOREIGN_LIMITS},
            "regenerate": self.ask("GET", "deployments/name/regenerate/regenerate"),
            "nightly": self.ask("GET", "deployments/name/publish/nightly"),
            "limit": self.ask("GET", "v2/concurrency_limits/gpu"),
        }
        moving = {"last_polled", "status", "active_slots"}
        return {name: {k: v for k, v in row.items() if k not in moving} for name, row in rows.items()}


def deploy(installation: Installation, folder: Path, name: str, *options: str) -> Outcome:
    """Register a configuration in this folder; only the address is given, and the root has the password."""
    folder.mkdir(exist_ok=True)
    root = Path(installation.environment["PREFECT_HOME"]).parent
    config = write_config(folder / "mine.toml", root)
    environment = {"PREFECT_API_URL": installation.api_url}
    return run_process_command(
        "deploy", config, "--installation", name, *options, folder=folder, environment=environment
    )


@pytest.fixture(scope="module")
def foreign(installation: Installation) -> ForeignTeam:
    team = ForeignTeam(installation)
    team.register()
    return team


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("installations")


@pytest.fixture(scope="module")
def described(installation: Installation, foreign: ForeignTeam, folder: Path) -> dict[str, Any]:
    """Register two installations, and return what the foreign team had before."""
    before = foreign.describe()
    created = deploy(installation, folder / "lab", "lab").require().out
    assert {line.split()[0] for line in created.splitlines()} == {"created"}
    deploy(installation, folder / "clinic", "clinic").require()
    return before


def test_installations_have_names_of_their_own_and_nothing_foreign_changes(
    described: dict[str, Any], foreign: ForeignTeam
) -> None:
    assert foreign.describe() == described
    for name in ("lab", "clinic"):
        assert foreign.ask("GET", f"work_pools/{name}-gpu")["type"] == "process"
        schedule = foreign.ask("GET", f"deployments/name/regenerate/{name}.mine")
        assert schedule["work_pool_name"] == f"{name}-cpu"
        assert (
            foreign.ask("GET", f"deployments/name/evaluate-model/{name}")["tags"][1] == f"pretexeval:{name}"
        )


def test_a_name_that_somebody_else_has_is_refused(
    described: dict[str, Any], installation: Installation, folder: Path, foreign: ForeignTeam
) -> None:
    before = foreign.ask("GET", "deployments/name/regenerate/lab.mine")
    refused = deploy(installation, folder / "other", "lab").require(2)
    assert f"runs in {folder / 'lab'}, not in {folder / 'other'}" in refused.err
    assert "--installation NAME" in refused.err
    assert foreign.ask("GET", "deployments/name/regenerate/lab.mine") == before


def test_automations_touch_only_runs_of_their_installation(
    described: dict[str, Any], foreign: ForeignTeam
) -> None:
    for name in ("lab", "clinic"):
        foreign.shorten_silence(f"{name}: crash what lost its worker")
    ours = [foreign.start_run("regenerate", f"{name}.mine") for name in ("lab", "clinic")]
    by_hand = foreign.start_run("publish", tags=("pretexeval:lab",))
    theirs = [foreign.start_run("regenerate", "regenerate"), foreign.start_run("train", tags=("theirs",))]
    for run in ours:
        # Marked as crashed, and then started again.
        foreign.wait_for(run, "Scheduled")
    foreign.wait_for(by_hand, "Crashed")
    assert [foreign.read_state(run) for run in theirs] == ["Running", "Running"]
    foreign.set_state(theirs[0], "CRASHED")
    time.sleep(2)
    assert foreign.read_state(theirs[0]) == "Crashed"


def test_the_server_answers_only_with_the_password_and_its_own_pages(installation: Installation) -> None:
    for name, value, status in (
        ("Authorization", "", 401),
        ("Authorization", "Basic cHJldGV4ZXZhbDp3cm9uZw==", 401),
        ("Host", "evil.example:4200", 400),
        ("Host", "localhost", 200),
    ):
        answer = send(
            installation, "POST", "block_documents/filter", {"include_secrets": True}, **{name: value}
        )
        assert answer.status_code == status, (name, value)
    own = installation.api_url.removesuffix("/api")
    for origin in ("http://evil.example", "null", own):
        answer = send(installation, "POST", "block_documents/filter", {}, Origin=origin)
        granted = answer.headers.get("access-control-allow-origin")
        assert granted == (own if origin == own else None)
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        preflight = send(installation, "OPTIONS", "block_documents/filter", Origin=origin, **asked)
        assert preflight.is_success is (origin == own)


def test_the_password_is_in_a_private_file_and_in_no_log_and_no_command_line(
    installation: Installation,
) -> None:
    password = installation.environment[PASSWORD]
    assert len(password) > 40
    file = installation.client_settings
    assert password in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    logs = list((file.parents[1] / LOGS_FOLDER).glob("*.log"))
    assert len(logs) >= 5
    words = [password, password.partition(":")[2]]
    assert [log for log in logs if any(word in log.read_text(errors="replace") for word in words)] == []
    pids = find_processes(f"PREFECT_HOME={installation.environment['PREFECT_HOME']}")
    assert len(pids) >= 5
    lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]
    assert [line for line in lines if any(word in line for word in words)] == []
