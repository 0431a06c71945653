"""A real installation: who else may use its server, its services, and their end with the command.

Restarts of single services under load: tests/flows/test_faults.py.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commands.deploy.cards import GpuWorker
from commands.deploy.local.client_settings import list_workers
from commands.deploy.local.installation import Installation, start_installation
from pretexeval.primitives.http_client import fetch_local
from pretexeval.storage.layout import LOGS_FOLDER
from tests.commands.deploy.prefect_api import PrefectApi, Row
from tests.support.command import (
    REPOSITORY,
    Outcome,
    find_processes,
    has_servers,
    run_process_command,
    wait_for_servers_to_end,
    write_config,
)
from tests.support.database_folder import NEEDS_POSTGRES, open_database_folder
from tests.support.fault_models import wait_until

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

# The limits of the pools of a foreign team, which have names like ours.
FOREIGN_LIMITS = {"cpu": 3, "gpu": 7}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation that ends with this module, because its workers keep a core partly busy."""
    root = tmp_path_factory.mktemp("installation")
    (root / "report").mkdir()
    (root / "report" / "index.html").write_text("<p>the pages</p>")
    with (
        open_database_folder() as folder,
        start_installation(root, gpu_workers=[GpuWorker()] * 2, database=folder, folder=root) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def api(installation: Installation) -> PrefectApi:
    return PrefectApi(installation.environment)


def deploy(installation: Installation, folder: Path, name: str) -> Outcome:
    """Register a configuration in this folder; only the address is given, and the root has the password."""
    folder.mkdir(exist_ok=True)
    root = Path(installation.environment["PREFECT_HOME"]).parent
    config = write_config(folder / "mine.toml", root)
    environment = {"PREFECT_API_URL": installation.api_url}
    return run_process_command(
        "deploy", config, "--installation", name, folder=folder, environment=environment
    )


def register_foreign_team(api: PrefectApi) -> None:
    """Let a team have pools, deployments and a limit with names like ours."""
    for name, limit in FOREIGN_LIMITS.items():
        api.post("/work_pools/", name=name, type="process", concurrency_limit=limit)
    for flow, name in (("regenerate", "regenerate"), ("publish", "nightly")):
        flow_id = api.create_flow(flow)
        api.post("/deployments/", flow_id=flow_id, name=name, work_pool_name="cpu", tags=["theirs"])
    api.post("/v2/concurrency_limits/", name="gpu", limit=7)


def describe_foreign_team(api: PrefectApi) -> dict[str, Row]:
    """Return all that they have, without what the server changes by itself."""
    paths = [f"/work_pools/{name}" for name in FOREIGN_LIMITS] + [
        "/deployments/name/regenerate/regenerate",
        "/deployments/name/publish/nightly",
        "/v2/concurrency_limits/gpu",
    ]
    moving = {"last_polled", "status", "active_slots"}
    return {path: {k: v for k, v in api.get(path).items() if k not in moving} for path in paths}


@pytest.fixture(scope="module")
def folder(installation: Installation, api: PrefectApi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Register a foreign team and two installations; return the folder of their configurations."""
    folder = tmp_path_factory.mktemp("installations")
    register_foreign_team(api)
    before = describe_foreign_team(api)
    created = deploy(installation, folder / "lab", "lab").require().out
    assert {line.split()[0] for line in created.splitlines()} == {"created"}
    deploy(installation, folder / "clinic", "clinic").require()
    assert describe_foreign_team(api) == before
    return folder


def test_installations_have_names_of_their_own_and_refuse_those_of_others(
    installation: Installation, folder: Path, api: PrefectApi
) -> None:
    for name in ("lab", "clinic"):
        assert api.get(f"/work_pools/{name}-gpu")["type"] == "process"
        assert api.get(f"/deployments/name/regenerate/{name}.mine")["work_pool_name"] == f"{name}-cpu"
        tags = api.get(f"/deployments/name/evaluate-model/{name}")["tags"]
        assert tags[1] == f"pretexeval:{name}"
    before = api.get("/deployments/name/regenerate/lab.mine")
    refused = deploy(installation, folder / "other", "lab").require(2)
    assert f"runs in {folder / 'lab'}, not in {folder / 'other'}" in refused.err
    assert "--installation NAME" in refused.err
    assert api.get("/deployments/name/regenerate/lab.mine") == before


def test_automations_touch_only_runs_of_their_installation(folder: Path, api: PrefectApi) -> None:
    for name in ("lab", "clinic"):
        # The automation waits 10 s, the shortest time, and not 90 s.
        named = {"name": {"any_": [f"{name}: crash what lost its worker"]}}
        (row,) = api.post("/automations/filter", automations=named)
        kept = {key: row[key] for key in ("name", "description", "enabled", "actions")}
        api.ask("PUT", f"/automations/{row['id']}", kept | {"trigger": row["trigger"] | {"within": 10}})

    def begin(run: Row) -> Row:
        """Let the run begin and send one heartbeat."""
        api.set_state(run["id"], {"type": "RUNNING"}, force=True)
        names = [f"prefect.tag.{tag}" for tag in run["tags"]]
        tags = [{"prefect.resource.id": name, "prefect.resource.role": "tag"} for name in names]
        heartbeat = {
            "event": "prefect.flow-run.heartbeat",
            "occurred": datetime.now(UTC).isoformat(),
            "resource": {"prefect.resource.id": f"prefect.flow-run.{run['id']}"},
            "related": tags,
            "id": run["id"],
        }
        api.ask("POST", "/events", [heartbeat])
        return run

    def read_state(run: Row) -> str:
        return str(api.get(f"/flow_runs/{run['id']}")["state_name"])

    def wait_for(run: Row, state: str) -> None:
        wait_until(lambda: read_state(run) == state, f"a run is {state}", 60)

    deployed = [
        begin(api.start_run(api.get(f"/deployments/name/regenerate/{name}")["id"]))
        for name in ("lab.mine", "clinic.mine", "regenerate")
    ]
    by_hand, trained = (
        begin(api.post("/flow_runs/", flow_id=api.create_flow(flow), tags=[tag]))
        for flow, tag in (("publish", "pretexeval:lab"), ("train", "theirs"))
    )
    for run in deployed[:2]:
        # Marked as crashed, and then started again.
        wait_for(run, "Scheduled")
    wait_for(by_hand, "Crashed")
    assert [read_state(run) for run in (deployed[2], trained)] == ["Running", "Running"]
    api.set_state(deployed[2]["id"], {"type": "CRASHED"}, force=True)
    time.sleep(2)
    assert read_state(deployed[2]) == "Crashed"


def test_the_server_answers_only_with_the_password_and_its_own_pages(
    installation: Installation, api: PrefectApi
) -> None:
    path = "/block_documents/filter"
    for name, value, status in (
        ("Authorization", "", 401),
        ("Authorization", "Basic cHJldGV4ZXZhbDp3cm9uZw==", 401),
        ("Host", "evil.example:4200", 400),
        ("Host", "localhost", 200),
    ):
        answer = api.client.post(path, json={"include_secrets": True}, headers={name: value})
        assert answer.status_code == status, (name, value)
    own = installation.api_url.removesuffix("/api")
    for origin in ("http://evil.example", "null", own):
        answer = api.client.post(path, json={}, headers={"Origin": origin})
        assert answer.headers.get("access-control-allow-origin") == (own if origin == own else None)
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        preflight = api.client.options(path, headers={"Origin": origin} | asked)
        assert preflight.is_success is (origin == own)


def test_the_password_is_in_a_private_file_and_in_no_log_and_no_command_line(
    installation: Installation,
) -> None:
    password = installation.environment["PREFECT_API_AUTH_STRING"]
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


def test_every_service_works_and_the_history_is_in_postgresql(installation: Installation) -> None:
    for pool, names in (("cpu", ["cpu"]), ("gpu", ["gpu", "gpu-2"])):
        assert sorted(list_workers(installation.environment, f"pretexeval-{pool}")) == names
    assert fetch_local(f"{installation.report_url}index.html").content == b"<p>the pages</p>"
    assert list(Path(installation.environment["PREFECT_HOME"]).rglob("*.db")) == []
    assert "PASSWORD" not in " ".join(installation.environment)


@pytest.mark.parametrize("killed", ["command", "supervisord"])
def test_all_services_end_with_the_killed_command(tmp_path: Path, killed: str) -> None:
    with open_database_folder() as folder:
        options = ["--root", str(tmp_path), "--database", str(folder), "--port", "0", "--report-port", "0"]
        command = subprocess.Popen(
            [sys.executable, "-m", "commands.deploy.local", *options, "--gpus", "none"],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert command.stdout is not None
            assert command.stdout.readline().startswith("export PREFECT_API_URL=http://127.0.0.1:")
            assert has_servers(tmp_path)
            if killed == "command":
                command.kill()
                command.wait()
            else:
                (supervisord,) = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
                os.kill(int(supervisord), signal.SIGKILL)
                assert command.wait(60) == 1
            assert wait_for_servers_to_end(tmp_path, 60)
        finally:
            command.terminate()
            command.wait()
