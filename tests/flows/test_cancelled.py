"""A run that is cancelled on a real Prefect server during a query of DuckDB."""

import subprocess
import sys
import time
from typing import Any

import pytest

from tests.support.command import build_environment
from tests.support.prefect_server import open_client

pytestmark = pytest.mark.long

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
