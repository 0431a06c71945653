"""Runs that are cancelled on a real Prefect server: they and their children end, and no answer is lost."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.flows.deployed import ENDS, Deployed
from tests.support.command import REPOSITORY, build_environment, run_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES
from tests.support.endpoint import Endpoint, serve_endpoint
from tests.support.fault_models import KNOWLEDGE, answer_slowly, build_model_table, count_requests, wait_until
from tests.support.installation import start_installation
from tests.support.prefect_server import Row, open_client

pytestmark = pytest.mark.long

MODELS = {"whole": {}, "in-shards": {"workers": 2}}
# The state that is set, after so many more prompts: at first, a shard is about to start.
CANCELLATIONS = (("CANCELLING", 1), ("CANCELLED", 60), ("CANCELLING", 250))


@dataclass
class Cancelled(Deployed):
    """An installation whose runs are cancelled, and the endpoint of its models."""

    endpoint: Endpoint = field(kw_only=True)
    config: Path = field(kw_only=True)

    def count_asked(self) -> Counter[tuple[str, str]]:
        counts = {name: count_requests(self.endpoint, name) for name in MODELS}
        return Counter(
            {(name, prompt): n for name, of_name in counts.items() for prompt, n in of_name.items()}
        )

    def read_stored(self) -> set[tuple[str, str]]:
        files = [
            (name, path) for name in MODELS for path in self.root.glob(f"responses/{name}-*/part-*.parquet")
        ]
        return {(name, prompt) for name, path in files for prompt in pl.read_parquet(path)["prompt"]}

    def have_ended(self) -> bool:
        """Return whether no run is active but those of the next weeks, which the schedule has made."""
        runs = self.list_runs("regenerate", "evaluate-model")
        return all(run["state_type"] in ENDS or run["auto_scheduled"] for run in runs)

    def list_states(self, run: Row) -> list[str]:
        """Return the types of the states of a run, in their order."""
        return [state["type"] for state in self.ask("GET", f"flow_run_states/?flow_run_id={run['id']}")]


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Cancelled]:
    with ExitStack() as stack:
        endpoint = stack.enter_context(serve_endpoint(answer_slowly))
        root = tmp_path / "data"
        running = stack.enter_context(start_installation(root, n_gpu_workers=2))
        models = [
            build_model_table(name, endpoint, pairs_per_relation=60, **own) for name, own in MODELS.items()
        ]
        config = write_config(tmp_path / "c.toml", root, knowledge=KNOWLEDGE, models=models)
        run_command("deploy", config, folder=REPOSITORY, environment=running.environment).require()
        yield Cancelled(root, running, endpoint=endpoint, config=config)


@NEEDS_POSTGRES
def test_cancelled_runs_and_their_children_stop_and_every_prompt_is_asked_once(deployed: Cancelled) -> None:
    """After a restart of the server, its events reach the workers no more: they ask for cancelled runs."""
    for state, n_more in CANCELLATIONS:
        moment = len(deployed.count_asked()) + n_more
        run_id = deployed.regenerate(deployed.config)
        wait_until(lambda m=moment: len(deployed.count_asked()) >= m, f"{moment} are asked")  # type: ignore[misc]
        deployed.ask("POST", f"flow_runs/{run_id}/set_state", {"state": {"type": state}})
        wait_until(deployed.have_ended, f"all runs have ended after {state} at {moment}")
        # The run whose state was set to Cancelled is still ending.
        wait_until(lambda: deployed.read_stored() == set(deployed.count_asked()), "all is stored")
        assert deployed.ask("GET", f"flow_runs/{run_id}")["state_type"] == "CANCELLED"
        if n_more == 1:
            deployed.installation.kill("server")
    cancelled = deployed.list_runs("regenerate", "evaluate-model")
    (regenerated,) = deployed.wait_for_runs("the rest is asked", [deployed.regenerate(deployed.config)])
    assert regenerated["state_type"] == "COMPLETED", regenerated["state"]["message"]
    assert set(deployed.count_asked().values()) == {1}
    assert deployed.read_stored() == set(deployed.count_asked())
    wait_until(deployed.have_ended, "all runs have ended")
    for run in cancelled:
        states = deployed.list_states(run)
        # Nothing has started a cancelled run, or one of its children, again. Prefect's server may read the
        # state of a child, and set Cancelling only after the child has ended.
        assert run["auto_scheduled"] or (
            states[-1] == "CANCELLED"
            and set(states[states.index("CANCELLED") :]) <= {"CANCELLED", "CANCELLING"}
        ), run["name"]


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
"""
BEGIN = f"{COMPUTE}\ncompute()"
# The worker has set the state of a run whose process it has started already.
BEGIN_CANCELLED = f"""{COMPUTE}
from prefect import get_client
from prefect.flow_engine import run_flow
from prefect.states import Cancelled

with get_client(sync_client=True) as client:
    run = client.create_flow_run(compute)
    client.set_flow_run_state(run.id, Cancelled())
    print(run_flow(compute, flow_run=client.read_flow_run(run.id), return_type="state").type.value)
"""
RUNNING: dict[str, Any] = {"flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}}


def test_a_run_that_is_ended_during_a_query_is_cancelled_and_has_not_failed(
    prefect_server: dict[str, str],
) -> None:
    """A worker sets the state and sends the signal, from which DuckDB makes an error of its own."""
    client = open_client(prefect_server)
    command = [sys.executable, "-c", BEGIN]
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


def test_a_run_that_was_cancelled_before_its_process_began_does_nothing(
    prefect_server: dict[str, str],
) -> None:
    command, environment = [sys.executable, "-c", BEGIN_CANCELLED], build_environment(prefect_server)
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    assert said.stdout.split() == ["CANCELLED"]
