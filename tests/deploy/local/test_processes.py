"""The real processes: PostgreSQL, Prefect's server on it, workers, the web server."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.local.guard import MARK, find_processes
from deploy.local.processes import Running, start_processes
from primitives.http_client import fetch_local
from tests.support.database_folder import NEEDS_POSTGRES, open_database_folder

pytestmark = [pytest.mark.slow, NEEDS_POSTGRES]

# A flow that says which process it is, and then takes as long as it is told to.
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
    print(stored.deploy("trace", work_pool_name="gpu", print_next_steps=False, build=False, push=False))
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root = tmp_path_factory.mktemp("installation")
    (root / "report").mkdir()
    (root / "report" / "index.html").write_text("<p>the pages</p>")
    with (
        open_database_folder() as folder,
        start_processes(root, n_gpu_workers=2, database=folder, folder=root) as processes,
    ):
        yield processes


@pytest.fixture(scope="module")
def deployment(running: Running, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its id."""
    script = tmp_path_factory.mktemp("flow") / "trace.py"
    script.write_text(FLOW)
    done = subprocess.run(
        [sys.executable, script], env=running.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def ask(running: Running, path: str, body: dict[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
    answer = fetch_local(f"{running.api_url}/{path}", body)
    assert answer.is_success, path
    return answer.read_json()


def start_run(running: Running, deployment: str, **parameters: object) -> str:
    state = {"type": "SCHEDULED"}
    body: dict[str, object] = {"parameters": parameters, "state": state}
    run: str = ask(running, f"deployments/{deployment}/create_flow_run", body)["id"]
    return run


def wait_for(running: Running, run: str, state: str, timeout_s: float = 90) -> None:
    deadline = time.monotonic() + timeout_s
    while (found := ask(running, f"flow_runs/{run}")["state_type"]) != state:
        assert time.monotonic() < deadline, f"{found} after {timeout_s:g} s"
        # As the command does, and Compose: a worker ends if it is starting something when the server is gone.
        running.revive()
        time.sleep(0.5)


def wait_for_file(path: Path, timeout_s: float = 90) -> str:
    deadline = time.monotonic() + timeout_s
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"no {path} after {timeout_s:g} s"
        time.sleep(0.2)
    return path.read_text()


def wait_for_end(pid: int | None, mark: str, timeout_s: float = 30) -> None:
    """Of that process, or of all that bear the mark."""
    deadline = time.monotonic() + timeout_s
    while any(pid in (None, found) for found in find_processes(mark)):
        assert time.monotonic() < deadline, f"still there after {timeout_s:g} s"
        time.sleep(0.2)


def test_every_worker_asks_for_work(running: Running) -> None:
    assert sorted(running.workers) == ["cpu", "gpu", "gpu-2"]
    for pool, names in (("cpu", ["cpu"]), ("gpu", ["gpu", "gpu-2"])):
        workers = ask(running, f"work_pools/{pool}/workers/filter", {})
        assert sorted(worker["name"] for worker in workers if worker["status"] == "ONLINE") == names


def test_the_web_server_serves_the_pages(running: Running) -> None:
    assert fetch_local(f"{running.report_url}index.html").content == b"<p>the pages</p>"


def test_the_history_is_in_postgresql_and_in_no_file(running: Running) -> None:
    home = Path(running.environment["PREFECT_HOME"])
    assert list(home.rglob("*.db")) == []
    assert "PASSWORD" not in " ".join(running.environment)


def test_a_run_goes_through_and_again_after_restarts(
    running: Running, deployment: str, tmp_path: Path
) -> None:
    first = start_run(running, deployment, path=str(tmp_path / "first"))
    wait_for(running, first, "COMPLETED")
    running.restart_server()
    running.restart_database()
    wait_for(running, first, "COMPLETED")
    second = start_run(running, deployment, path=str(tmp_path / "second"))
    wait_for(running, second, "COMPLETED")
    assert (tmp_path / "first").exists()
    assert (tmp_path / "second").exists()


def test_a_killed_worker_takes_its_run_along_and_comes_back(
    running: Running, deployment: str, tmp_path: Path
) -> None:
    running.revive()
    trace = tmp_path / "trace"
    start_run(running, deployment, path=str(trace), seconds=120)
    pid = int(wait_for_file(trace))
    for name in ("gpu", "gpu-2"):
        running.kill_worker(name)
        assert running.workers[name].returncode == -9
    wait_for_end(pid, running.environment[MARK])
    assert running.revive() == ["gpu", "gpu-2"]
    after = start_run(running, deployment, path=str(tmp_path / "after"))
    wait_for(running, after, "COMPLETED")


def test_all_end_with_the_command_that_is_killed(tmp_path: Path) -> None:
    with open_database_folder() as folder:
        options = ["--root", str(tmp_path), "--database", str(folder), "--port", "0", "--report-port", "0"]
        command = subprocess.Popen(
            [sys.executable, "-m", "deploy.local.processes", *options, "--gpu-workers", "0"],
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert command.stdout is not None
        assert command.stdout.readline().startswith("export PREFECT_API_URL=http://127.0.0.1:")
        environments = (Path(f"/proc/{pid}/environ") for pid in _list_children(command.pid))
        marks = {v for e in environments for v in e.read_bytes().split(b"\0") if v.startswith(MARK.encode())}
        mark = marks.pop().decode().partition("=")[2]
        assert len(list(find_processes(mark))) >= 4
        command.kill()
        command.wait()
        wait_for_end(None, mark)


def _list_children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
