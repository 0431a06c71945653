"""A real installation, on the server of conftest.py: its services, and what happens when they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from commands.deploy.local.client_settings import authorize, list_workers
from commands.deploy.local.installation import Installation
from pretexeval.primitives.http_client import fetch_local
from tests.support.command import find_processes, has_servers, wait_for_servers_to_end
from tests.support.database_folder import NEEDS_POSTGRES, open_database_folder
from tests.support.installation import kill_service

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

# A flow that writes its process id to a file, and then sleeps for the given time.
FLOW = """
import os, time
from pathlib import Path
from prefect import flow

@flow
def leave_trace(path: str, seconds: float = 0) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(seconds)

if __name__ == "__main__":
    stored = leave_trace.from_source(source=str(Path(__file__).parent), entrypoint="trace.py:leave_trace")
    options = {"print_next_steps": False, "build": False, "push": False}
    print(stored.deploy("trace", work_pool_name="pretexeval-gpu", **options))
"""


@pytest.fixture(scope="module")
def deployment(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the id of the deployment."""
    script = tmp_path_factory.mktemp("flow") / "trace.py"
    script.write_text(FLOW)
    done = subprocess.run(
        [sys.executable, script], env=installation.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def ask(installation: Installation, path: str, body: dict[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
    answer = fetch_local(f"{installation.api_url}/{path}", body, authorize(installation.environment))
    assert answer.is_success, path
    return answer.read_json()


def start_run(installation: Installation, deployment: str, **parameters: object) -> str:
    state = {"type": "SCHEDULED"}
    body: dict[str, object] = {"parameters": parameters, "state": state}
    run: str = ask(installation, f"deployments/{deployment}/create_flow_run", body)["id"]
    return run


def wait_for(installation: Installation, run: str, state: str, timeout_s: float = 90) -> None:
    deadline = time.monotonic() + timeout_s
    while (found := ask(installation, f"flow_runs/{run}")["state_type"]) != state:
        assert time.monotonic() < deadline, f"{found} after {timeout_s:g} s"
        time.sleep(0.5)


def wait_for_file(path: Path, timeout_s: float = 90) -> str:
    deadline = time.monotonic() + timeout_s
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"no {path} after {timeout_s:g} s"
        time.sleep(0.2)
    return path.read_text()


def test_every_service_works_and_the_history_is_in_postgresql(installation: Installation) -> None:
    for pool, names in (("cpu", ["cpu"]), ("gpu", ["gpu", "gpu-2"])):
        assert sorted(list_workers(installation.environment, f"pretexeval-{pool}")) == names
    assert fetch_local(f"{installation.report_url}index.html").content == b"<p>the pages</p>"
    assert list(Path(installation.environment["PREFECT_HOME"]).rglob("*.db")) == []
    assert "PASSWORD" not in " ".join(installation.environment)


def test_a_run_completes_before_and_after_restarts(
    installation: Installation, deployment: str, tmp_path: Path
) -> None:
    first = start_run(installation, deployment, path=str(tmp_path / "first"))
    wait_for(installation, first, "COMPLETED")
    kill_service(installation, "server")
    kill_service(installation, "database", signal.SIGINT)
    wait_for(installation, first, "COMPLETED")
    second = start_run(installation, deployment, path=str(tmp_path / "second"))
    wait_for(installation, second, "COMPLETED")
    assert (tmp_path / "first").exists()
    assert (tmp_path / "second").exists()


def test_a_killed_worker_ends_with_its_run_and_is_restarted(
    installation: Installation, deployment: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    start_run(installation, deployment, path=str(trace), seconds=120)
    pid = int(wait_for_file(trace))
    for name in ("gpu", "gpu-2"):
        kill_service(installation, name, signal.SIGKILL)
    assert pid not in find_processes(f"PREFECT_HOME={installation.environment['PREFECT_HOME']}")
    after = start_run(installation, deployment, path=str(tmp_path / "after"))
    wait_for(installation, after, "COMPLETED")


@pytest.mark.parametrize("killed", ["command", "supervisord"])
def test_all_services_end_with_the_killed_command(tmp_path: Path, killed: str) -> None:
    with open_database_folder() as folder:
        options = ["--root", str(tmp_path), "--database", str(folder), "--port", "0", "--report-port", "0"]
        command = subprocess.Popen(
            [sys.executable, "-m", "commands.deploy.local", *options, "--gpus", "none"],
            cwd=Path(__file__).parents[4],
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
