"""What happens in production: a worker is killed in the middle of an evaluation, and nothing is lost."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from deploy.processes import Running, start_processes
from tests.deploy.database import NEEDS_POSTGRES, open_database_folder
from tests.flows.command import REPOSITORY, read_bytes, run_command, write_config
from tests.flows.test_deployed import Server

pytestmark = [pytest.mark.slow, NEEDS_POSTGRES]

MODEL = {"name": "large", "model": str(REPOSITORY / "models" / "reference-large"), "dtype": "bfloat16"}
# A run is lost when its heartbeats, every 30 s, have been missing for 90.
TAKEN_UP_S = 330


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults") / "data"


@pytest.fixture(scope="module")
def running(root: Path) -> Iterator[Running]:
    with (
        open_database_folder() as database,
        start_processes(root, database=database, folder=REPOSITORY) as processes,
    ):
        config = write_config(root.parent / "config.toml", root, models=[MODEL])
        arguments = ("deploy", config, "--gpus", "1")
        run_command(*arguments, folder=REPOSITORY, environment=processes.environment).require()
        yield processes


def wait_for_answers(root: Path, timeout_s: float = 240) -> dict[str, str]:
    """The first answers that are kept; the evaluation goes on meanwhile."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if kept := read_bytes(root, "responses/*/part-*.parquet"):
            return kept
        time.sleep(0.05)
    raise AssertionError("no answer was kept")


def read_predictions(root: Path) -> pl.DataFrame:
    files = sorted(root.glob("predictions/*/*/predictions/*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]).sort("sample_id")


def test_an_evaluation_whose_worker_was_killed_is_taken_up_again(running: Running, root: Path) -> None:
    server = Server(running)
    deployment = server.client.get("/deployments/name/regenerate/regenerate").json()
    made = server.client.post(f"/deployments/{deployment['id']}/create_flow_run", json={})
    run_id = made.raise_for_status().json()["id"]
    before = wait_for_answers(root)
    running.kill_worker("gpu")
    killed = time.monotonic()
    running.restart_worker("gpu")
    while time.monotonic() < killed + TAKEN_UP_S:
        state = server.client.get(f"/flow_runs/{run_id}").json()["state"]
        if state["type"] in ("COMPLETED", "FAILED", "CRASHED"):
            break
        time.sleep(2)
    assert state["type"] == "COMPLETED", state
    runs = server.list_runs("evaluate-model")
    assert [run["state_type"] for run in runs] == ["CRASHED", "COMPLETED"]
    after = read_bytes(root, "responses/*/part-*.parquet")
    assert before.items() <= after.items()
    record = json.loads(next(root.glob("predictions/*/*/run.json")).read_text())
    n_kept = sum(pl.read_parquet(root / path).height for path in before)
    assert record["n_asked"] <= record["n_samples"] - n_kept


def test_the_predictions_are_those_of_an_undisturbed_run(root: Path, tmp_path: Path) -> None:
    manifest = json.loads(next(root.glob("editions/*/manifest.json")).read_text())
    edition = {"seed": manifest["seed"], "label": manifest["label"]}
    config = write_config(tmp_path / "config.toml", tmp_path / "data", edition=edition, models=[MODEL])
    run_command("run", config, folder=tmp_path, timeout_s=600).require()
    disturbed, calm = read_predictions(root), read_predictions(tmp_path / "data")
    columns = ["sample_id", "prompt_key", "prediction", "is_correct"]
    differing = disturbed.select(columns).join(calm.select(columns), on=columns, how="anti", nulls_equal=True)
    assert disturbed.height == calm.height
    # bf16 rounds differently in another batch: a near-tie may fall the other way.
    assert differing.height <= calm.height / 1000
