"""Runs that are cancelled on a real Prefect server stop asking, and keep every answer."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.support import artifacts
from tests.support.command import build_environment, run_command, write_config
from tests.support.endpoint import Body, EndpointReply, serve_endpoint
from tests.support.fault_models import answer_slowly, build_model_table, count_requests
from tests.support.prefect_server import open_client

pytestmark = pytest.mark.long

KNOWLEDGE = {"relations": ["affected_sites"]}
IN_QUERY_S = 0.5
COMPUTE = """
import duckdb
from prefect import flow
from flows.support.cancellation import end_when_cancelled

@flow(name="compute")
@end_when_cancelled
def compute():
    # DuckDB ends a query at a signal only if the thread that gets the signal computes it.
    connection = duckdb.connect(config={"threads": 1})
    print("begun", flush=True)
    connection.execute("select sum(hash(a.range)) from range(10000000) a, range(1000000) b").fetchone()

compute()
"""
RUNNING: dict[str, Any] = {"flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}}
# A busy machine notices it some seconds later; the endpoint answers at most 80 prompts a second.
MAX_LATE = 400


def cancel_evaluations(server: dict[str, str], model: str) -> None:
    """Cancel the running evaluations of the model."""
    client = open_client(server)
    running = {"flows": {"name": {"any_": ["evaluate-model"]}}, **RUNNING}
    for run in client.post("/flow_runs/filter", json=running).raise_for_status().json():
        if run["parameters"]["model_name"] == model:
            body = {"state": {"type": "CANCELLING"}}
            client.post(f"/flow_runs/{run['id']}/set_state", json=body).raise_for_status()


@pytest.mark.parametrize("moment", [1, 300])
def test_a_cancelled_command_stops_asking_and_the_next_asks_the_rest(
    tmp_path: Path, prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    monkeypatch.setattr(artifacts, "SECONDS_BETWEEN_UPDATES", 0.2)
    name, is_cancelled = f"cancelled-{moment}", False

    def reply(body: Body, number: int) -> EndpointReply:
        nonlocal is_cancelled
        if number >= moment and not is_cancelled:
            is_cancelled = True
            cancel_evaluations(prefect_server, name)
        return answer_slowly(body, number)

    with serve_endpoint(reply) as endpoint:
        models = [build_model_table(name, endpoint)]
        config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=KNOWLEDGE, models=models)
        first = run_command("evaluate", config, folder=tmp_path, environment=prefect_server)
        assert "cancelled" in first.err
        asked = count_requests(endpoint, name)
        assert len(asked) <= moment + MAX_LATE
        stored = pl.read_parquet(list(tmp_path.glob("data/responses/*/part-*.parquet")))
        assert Counter(stored["prompt"]) == asked
        run_command("evaluate", config, folder=tmp_path, environment=prefect_server).require()
        counts = count_requests(endpoint, name)
        assert len(counts) > len(asked)
        assert set(counts.values()) == {1}


def test_a_run_that_is_ended_during_a_query_is_cancelled_and_has_not_failed(
    prefect_server: dict[str, str],
) -> None:
    """A worker sets the state and sends the signal, from which DuckDB makes an error of its own."""
    client = open_client(prefect_server)
    command = [sys.executable, "-c", COMPUTE]
    environment = build_environment(prefect_server)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            running = {"flows": {"name": {"any_": ["compute"]}}, **RUNNING}
            (run,) = client.post("/flow_runs/filter", json=running).raise_for_status().json()
            address = f"/flow_runs/{run['id']}"
            body = {"state": {"type": "CANCELLING"}}
            client.post(f"{address}/set_state", json=body).raise_for_status()
            time.sleep(IN_QUERY_S)
            process.terminate()
            process.wait(120)
        finally:
            process.kill()
    assert client.get(address).raise_for_status().json()["state_type"] == "CANCELLED"
