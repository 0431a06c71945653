"""A real installation: its server, automations and end; and what `pretexeval deploy` registers on a server.

Restarts of single services under load: tests/flows/test_faults.py.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from configparser import RawConfigParser
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psutil
import pytest
from prefect.settings import Settings

from commands.deploy.local import (
    PASSWORD_VARIABLE,
    SERVER_DEFAULTS,
    SERVER_PASSWORD_VARIABLE,
    provide_client_settings,
)
from commands.prefect_server import SETTINGS
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import CLIENT_SETTINGS, LOGS_FOLDER, PREFECT_FOLDER
from tests.support.command import REPOSITORY, Outcome, run_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES
from tests.support.endpoint import EndpointReply, serve_endpoint
from tests.support.fault_models import wait_until
from tests.support.installation import Installation, start_installation
from tests.support.prefect_server import PrefectApi, Row

# A password with all that a shell could take apart.
WORD = "me:a b'c\"$d#e=f"


def test_the_password_is_private_and_kept_until_the_file_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / PREFECT_FOLDER).mkdir()
    path = tmp_path / CLIENT_SETTINGS
    monkeypatch.setenv(SERVER_PASSWORD_VARIABLE, WORD)
    assert provide_client_settings(tmp_path, 1, 2)[PASSWORD_VARIABLE] == WORD
    assert path.stat().st_mode & 0o777 == 0o600
    monkeypatch.delenv(SERVER_PASSWORD_VARIABLE)
    assert provide_client_settings(tmp_path, 1, 2)[PASSWORD_VARIABLE] == WORD
    script = f'. {path} && printf %s "${PASSWORD_VARIABLE}"'
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == WORD
    path.unlink()
    assert len(provide_client_settings(tmp_path, 1, 2)[PASSWORD_VARIABLE]) > 40
    monkeypatch.setenv(SERVER_PASSWORD_VARIABLE, "me:gegebén")
    with pytest.raises(InputError, match="ASCII"):
        provide_client_settings(tmp_path, 1, 2)


def test_servers_remove_old_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Prefect understands the settings of an installation, and of the server of a command."""
    cases: list[dict[str, str]] = [SERVER_DEFAULTS, SETTINGS]
    for settings in cases:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        vacuum = Settings().server.services.db_vacuum
        assert vacuum.enabled == {"events", "flow_runs"}, settings
        assert vacuum.retention_period == timedelta(days=90), settings


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation with a configuration that is deployed."""
    root = tmp_path_factory.mktemp("installation") / "data"
    with start_installation(root, n_gpu_workers=2) as started:
        config = write_config(root.parent / "mine.toml", root)
        run_command("deploy", config, folder=root.parent, environment=started.environment).require()
        yield started


@pytest.fixture(scope="module")
def api(installation: Installation) -> PrefectApi:
    return PrefectApi(installation.environment)


@pytest.mark.long
@NEEDS_POSTGRES
def test_the_server_answers_only_with_the_password(installation: Installation, api: PrefectApi) -> None:
    assert sorted(installation.list_workers("gpu")) == ["gpu-0", "gpu-1"]
    assert list((installation.root / PREFECT_FOLDER).rglob("*.db")) == []
    path, asked = "/block_documents/filter", {"include_secrets": True}
    for header in ("", "Basic cHJldGV4ZXZhbDp3cm9uZw=="):
        answer = api.client.post(path, json=asked, headers={"Authorization": header})
        assert answer.status_code == 401
    # A page of another site has no password.
    answer = httpx.post(
        f"{installation.api_url}{path}", json=asked, headers={"Origin": "http://evil.example"}
    )
    assert answer.status_code == 401
    assert api.client.post(path, json=asked).status_code == 200


@pytest.mark.long
@NEEDS_POSTGRES
def test_the_password_is_in_no_log_and_no_command_line(installation: Installation) -> None:
    password = installation.environment[PASSWORD_VARIABLE]
    words = [password, password.partition(":")[2]]
    logs = [log.read_text(errors="replace") for log in (installation.root / LOGS_FOLDER).glob("*.log")]
    supervisor = psutil.Process(installation.supervisor.pid)
    lines = [" ".join(process.cmdline()) for process in [supervisor, *supervisor.children(recursive=True)]]
    assert min(len(logs), len(lines)) >= 6
    assert [text for text in (*logs, *lines) if any(word in text for word in words)] == []


@pytest.mark.long
@NEEDS_POSTGRES
def test_runs_of_the_project_that_lose_their_worker_are_crashed(api: PrefectApi) -> None:
    # The automation waits 10 s, the shortest time, and not three minutes.
    named = {"name": {"any_": ["pretexeval: crash what lost its worker"]}}
    (row,) = api.post("/automations/filter", automations=named)
    kept = {key: row[key] for key in ("name", "description", "enabled", "actions")}
    api.ask("PUT", f"/automations/{row['id']}", kept | {"trigger": row["trigger"] | {"within": 10}})

    def begin(tags: list[str]) -> str:
        """Begin a run with these tags, which sends one heartbeat; return its id."""
        run = api.post("/flow_runs/", flow_id=api.create_flow("publish"), tags=tags)["id"]
        api.set_state(run, {"type": "RUNNING"}, force=True)
        related = [
            {"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"} for tag in tags
        ]
        heartbeat = {
            "event": "prefect.flow-run.heartbeat",
            "occurred": datetime.now(UTC).isoformat(),
            "resource": {"prefect.resource.id": f"prefect.flow-run.{run}"},
            "related": related,
            "id": run,
        }
        api.ask("POST", "/events", [heartbeat])
        return str(run)

    theirs, ours = begin(["theirs"]), begin(["pretexeval"])
    wait_until(lambda: api.get(f"/flow_runs/{ours}")["state_name"] == "Crashed", "the run is crashed", 60)
    assert api.get(f"/flow_runs/{theirs}")["state_name"] == "Running"


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


def create_deployment(api: PrefectApi, flow: str, name: str) -> str:
    return str(api.post("/deployments/", name=name, flow_id=api.create_flow(flow), tags=["pretexeval"])["id"])


def run_deployment(api: PrefectApi, deployment: str, name: str, states: list[Row]) -> None:
    """Create a run, and lead it through the states; after a crash, wait until it is scheduled again."""
    run = api.start_run(deployment, name=name)["id"]

    def wait_for_server(was: str) -> None:
        """Wait until the server itself has changed the state."""
        path = f"/flow_runs/{run}"
        wait_until(lambda: api.get(path)["state_name"] != was, f"{name} is no longer {was}", 90)

    for state in states:
        if state == NOT_TAKEN:
            an_hour_ago = {"scheduled_time": str(datetime.now(UTC) - timedelta(hours=1))}
            api.set_state(run, {**state, "state_details": an_hour_ago}, force=True)
            wait_for_server("Scheduled")
            continue
        api.set_state(run, state)
        if state == CRASHED:
            wait_for_server("Crashed")


@pytest.mark.long
@NEEDS_POSTGRES
def test_a_failed_run_sends_one_message_and_the_next_good_one_another(
    installation: Installation, api: PrefectApi
) -> None:
    """The notifications are created with the commands of docs/operations.md."""
    expected = [
        f"{name}: {what}" for name, outcomes in SEQUENCES.items() for _, caused in outcomes for what in caused
    ]
    expected.append("last: Failed")
    with serve_endpoint(lambda *_: EndpointReply(body={})) as hook:
        installation.notify(hook.base_url)
        deployments = {name: create_deployment(api, "regenerate", name) for name in SEQUENCES}
        child, n_notes = create_deployment(api, "evaluate-model", "child"), 0
        for name, outcomes in SEQUENCES.items():
            run_deployment(api, child, f"child of {name}", [FAILED])
            for states, caused in outcomes:
                run_deployment(api, deployments[name], name, states)
                n_notes += len(caused)
                # Prefect may read the events of runs that follow each other closely out of order.
                wait_until(lambda n=n_notes: len(hook.requests) >= n, f"{n_notes} notes")  # type: ignore[misc]
        run_deployment(api, create_deployment(api, "regenerate", "last"), "last", [FAILED])
        wait_until(lambda: len(hook.requests) >= len(expected), "all messages")
    notes = [note for *_, note in hook.requests]
    assert Counter(note["subject"] for note in notes) == Counter(expected)
    bodies = [note["body"] for note in notes if note["subject"].endswith(": Failed")]
    assert sum(REASON in body for body in bodies) == len(bodies) - 1
    assert sum("before the flow began" in body for body in bodies) == 1


@pytest.mark.long
@NEEDS_POSTGRES
def test_all_services_end_with_a_killed_supervisord(tmp_path: Path) -> None:
    with start_installation(tmp_path / "data") as started:
        services = psutil.Process(started.supervisor.pid).children(recursive=True)
        assert len(services) >= 4
        started.supervisor.kill()
        _, alive = psutil.wait_procs(services, timeout=60)
        assert alive == []


CONFIG = "configs/quickstart.toml"
OF_CONFIG = "/deployments/name/regenerate/quickstart"
DAILY = '[schedule]\ncron = "30 4 * * *"\ntimezone = "Europe/Berlin"\nperiod = "day"\n'
LARGE_MODEL = """
[[models]]
name = "large"
model = "x"
tensor_parallel_size = 4
pool = "gpu-4x80"
[[models]]
name = "small"
model = "y"
"""


class Registry(PrefectApi):
    """A Prefect server, and a folder with configurations that are deployed there."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        super().__init__(environment)
        self.environment, self.folder = environment, folder

    def deploy(self, *options: str, config: str = CONFIG) -> Outcome:
        return run_command("deploy", config, *options, folder=self.folder, environment=self.environment)


@pytest.fixture
def registry(prefect_server: dict[str, str], tmp_path: Path) -> Iterator[Registry]:
    """The server; everything on it goes after the test, because other tests use the same server."""
    (tmp_path / "configs").mkdir()
    (tmp_path / CONFIG).write_text(LARGE_MODEL)
    registry = Registry(prefect_server, tmp_path)
    yield registry
    for kind in ("work_pools", "deployments", "automations"):
        for each in registry.list_all(kind):
            path = f"/{kind}/{each['name' if kind == 'work_pools' else 'id']}"
            assert registry.client.delete(path).status_code in (204, 404)


@pytest.mark.long
def test_registering_is_idempotent_and_what_was_switched_off_stays_off(registry: Registry) -> None:
    registry.deploy().require()
    deployment = registry.get(OF_CONFIG)
    (schedule,) = deployment["schedules"]
    waiting = registry.post("/flow_runs/filter", deployments={"id": {"any_": [deployment["id"]]}})
    assert waiting
    flows = ("evaluate-model", "rephrase-samples")
    names = {f"{flow}/{pool}" for flow in flows for pool in ("gpu", "gpu-4x80")}
    for name in names | {"build-test-set/cpu", "publish/cpu"}:
        there = registry.get(f"/deployments/name/{name}")
        assert there["work_pool_name"] == there["name"]
        assert there["pull_steps"] == deployment["pull_steps"]
    assert len(registry.list_all("deployments")) == 7
    first, *others = [each["id"] for each in registry.list_all("automations")]
    registry.ask("PATCH", f"/deployments/{deployment['id']}/schedules/{schedule['id']}", {"active": False})
    registry.ask("PATCH", f"/automations/{first}", {"enabled": False})
    # A limit of a pool is the user's, too.
    registry.ask("PATCH", "/work_pools/gpu", {"concurrency_limit": 2})
    (registry.folder / CONFIG).write_text(LARGE_MODEL + DAILY)
    changed = registry.deploy().require()
    assert "deployment regenerate/quickstart (30 4 * * * Europe/Berlin, switched off)" in changed.out
    (later,) = registry.get(OF_CONFIG)["schedules"]
    assert (later["id"], later["active"]) == (schedule["id"], False)
    assert later["schedule"] == {"cron": "30 4 * * *", "timezone": "Europe/Berlin", "day_or": True}
    enabled = {each["id"]: each["enabled"] for each in registry.list_all("automations")}
    assert enabled == {first: False} | dict.fromkeys(others, True)
    assert registry.get("/work_pools/gpu")["concurrency_limit"] == 2
    assert len(registry.list_all("deployments")) == 7


@pytest.mark.long
def test_a_removed_configuration_leaves_the_others(registry: Registry) -> None:
    (registry.folder / "configs/other.toml").write_text(DAILY)
    for config in (CONFIG, "configs/other.toml"):
        registry.deploy(config=config).require()
    # A file of the same name elsewhere is another configuration, and an active run keeps its deployment.
    (registry.folder / "quickstart.toml").write_text("")
    for options in ((), ("--remove",)):
        refused = registry.deploy(*options, config="quickstart.toml").require(2)
        assert f"regenerate/quickstart runs {registry.folder / CONFIG}" in refused.err
    run = registry.start_run(registry.get(OF_CONFIG)["id"])
    registry.set_state(run["id"], {"type": "RUNNING"}, force=True)
    assert f"{run['name']}: wait for the end or cancel" in registry.deploy("--remove").require(2).err
    registry.set_state(run["id"], {"type": "COMPLETED"}, force=True)
    assert registry.deploy("--remove").require().out == (
        "removed deployment regenerate/quickstart (0 3 * * 1 Etc/UTC)\n"
    )
    assert registry.deploy("--remove").require().out == f"{CONFIG} is not deployed\n"
    left = {each["name"] for each in registry.list_all("deployments")}
    assert left == {"cpu", "gpu", "gpu-4x80", "other"}


@pytest.mark.long
def test_runs_in_containers_start_in_their_folder(registry: Registry) -> None:
    """The pools are created with Prefect's own command, which gives them the settings of runs."""
    for pool in ("cpu", "gpu", "gpu-4x80"):
        registry.post("/work_pools/", name=pool, type="kubernetes")
    registry.deploy("--home", "/app").require()
    assert {each["type"] for each in registry.list_all("work_pools")} == {"kubernetes"}
    deployment = registry.get(OF_CONFIG)
    (step,) = deployment["pull_steps"]
    assert step["prefect.deployments.steps.set_working_directory"] == {"directory": "/app"}
    assert deployment["parameters"] == {"config_file": CONFIG}
    environment = registry.get("/deployments/name/evaluate-model/gpu")["job_variables"]["env"]
    assert environment["PREFECT_LOCAL_STORAGE_PATH"] == "/app/data/cache/tasks"
    assert environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert environment["PRETEXEVAL_TIME_LIMIT_H"] == "72"


def test_the_log_of_each_service_is_rotated() -> None:
    services = RawConfigParser()
    services.read(REPOSITORY / "commands/deploy/supervisord.conf")
    programs = [services[name] for name in services.sections() if name.startswith("program:")]
    logs = [(each["stdout_logfile_maxbytes"], each["stdout_logfile_backups"]) for each in programs]
    assert logs == [("10MB", "4")] * 4


@pytest.mark.long
def test_a_name_that_prefect_refuses_is_reported(registry: Registry) -> None:
    (registry.folder / "a&b.toml").write_text("")
    assert "Prefect refused the deployments" in registry.deploy(config="a&b.toml").require(2).err
