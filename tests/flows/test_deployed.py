"""The scheduled flow where it runs: a server on PostgreSQL, two pools, their workers, and the web server."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.processes import Running, start_processes
from tests.deploy.database import NEEDS_POSTGRES, open_database_folder
from tests.flows.command import REPOSITORY, read_stamps, run_command, write_config

pytestmark = [pytest.mark.slow, NEEDS_POSTGRES]

NAMES = ("reference-large", "reference-small")
Row = dict[str, Any]


class Server:
    """Prefect's server as the test asks it."""

    def __init__(self, running: Running) -> None:
        self.client = httpx.Client(base_url=running.api_url, timeout=30)

    def filter(self, kind: str, **what: object) -> list[Row]:
        rows: list[Row] = self.client.post(f"/{kind}/filter", json=what).raise_for_status().json()
        return rows

    def list_runs(self, flow: str) -> list[Row]:
        return self.filter("flow_runs", flows={"name": {"any_": [flow]}}, sort="START_TIME_ASC")

    def run(self, name: str, timeout_s: float = 300) -> Row:
        """Start the deployment of that name, and what became of the run."""
        deployment = self.client.get(f"/deployments/name/{name}/{name}").raise_for_status().json()
        made = self.client.post(f"/deployments/{deployment['id']}/create_flow_run", json={})
        run_id = made.raise_for_status().json()["id"]
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            run: Row = self.client.get(f"/flow_runs/{run_id}").raise_for_status().json()
            if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
                return run
            time.sleep(1)
        raise AssertionError(f"{name} did not end in {timeout_s:g} s")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deployed") / "data"


@pytest.fixture(scope="module")
def running(root: Path) -> Iterator[Running]:
    with (
        open_database_folder() as database,
        start_processes(root, n_gpu_workers=2, database=database, folder=REPOSITORY) as processes,
    ):
        models = [
            {"name": name, "model": str(REPOSITORY / "models" / name), "dtype": "bfloat16"} for name in NAMES
        ]
        config = write_config(
            root.parent / "config.toml",
            root,
            knowledge={"relations": ["may_treat"]},
            report={"base_url": processes.report_url},
            models=models,
        )
        for _ in range(2):
            arguments = ("deploy", config, "--gpus", "1")
            run_command(*arguments, folder=REPOSITORY, environment=processes.environment).require()
        yield processes


@pytest.fixture(scope="module")
def server(running: Running) -> Server:
    return Server(running)


@pytest.fixture(scope="module")
def regenerated(server: Server) -> Row:
    return server.run("regenerate")


def test_the_scheduled_flow_completes(regenerated: Row) -> None:
    assert regenerated["state_type"] == "COMPLETED", regenerated["state"]["message"]


def test_models_are_evaluated_in_the_pool_gpu_and_never_two_at_once(regenerated: Row, server: Server) -> None:
    runs = server.list_runs("evaluate-model")
    assert [run["state_type"] for run in runs] == ["COMPLETED"] * 2
    assert {run["work_pool_name"] for run in runs} == {"gpu"}
    assert {run["parameters"]["model_name"] for run in runs} == set(NAMES)
    for name, run in zip(sorted(NAMES), sorted(runs, key=lambda r: str(r["name"])), strict=True):
        assert re.match(rf"evaluate-{name}-starter-\d{{4}}-W\d\d-", run["name"])
    first, second = (datetime.fromisoformat(run["start_time"]) for run in runs)
    assert datetime.fromisoformat(runs[0]["end_time"]) <= second
    assert first < second


def test_the_run_leaves_links_that_answer_and_the_page_shows_its_numbers(
    regenerated: Row, server: Server, running: Running
) -> None:
    artifacts = {each["key"]: each for each in server.filter("artifacts") if each["key"]}
    stages = {f"quality-{stage}" for stage in ("triplets", "variants", "statements", "samples")}
    assert {"dashboard", "parquet", "warehouse", "leaderboard"} | stages <= set(artifacts)
    table = json.loads(artifacts["leaderboard"]["data"])
    assert {row["model"] for row in table} == set(NAMES)
    (link,) = re.findall(re.escape(running.report_url) + r"[^)\s]+", str(artifacts["dashboard"]["data"]))
    assert httpx.get(link).status_code == 200
    text = read_page(link)
    for row in table:
        assert row["model"] in text
        assert f"{row['accuracy %']:.1f}" in text


def read_page(link: str) -> str:
    """What a browser makes of the page; where there is none, what the server sends."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        return httpx.get(link).text
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", link]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_schedule_has_upcoming_runs(regenerated: Row, server: Server) -> None:
    deadline = time.monotonic() + 90
    upcoming: list[Row] = []
    while not upcoming and time.monotonic() < deadline:
        upcoming = [run for run in server.list_runs("regenerate") if run["state_type"] == "SCHEDULED"]
        time.sleep(1)
    assert upcoming
    assert all(run["auto_scheduled"] for run in upcoming)


def test_the_same_week_again_asks_nothing(regenerated: Row, server: Server, root: Path) -> None:
    before = read_stamps(root, "responses/**/*.parquet")
    editions = sorted(path.name for path in (root / "editions").iterdir())
    assert server.run("regenerate")["state_type"] == "COMPLETED"
    assert read_stamps(root, "responses/**/*.parquet") == before
    assert sorted(path.name for path in (root / "editions").iterdir()) == editions
