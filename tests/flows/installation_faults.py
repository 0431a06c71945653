"""The faults of an installation that runs `regenerate`, one after another; tests check the results."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from commands.deploy.local.client_settings import authorize
from commands.deploy.local.installation import Installation
from pretexeval.config.file import load_config
from tasks.asking.model_session import TRIAL_CHUNK
from tests.support.command import REPOSITORY, read_bytes, write_config
from tests.support.endpoint import Endpoint
from tests.support.fault_models import KNOWLEDGE, build_model_table, count_requests, wait_until
from tests.support.installation import kill_run, kill_service

# In float32 a reference model answers the same in every batch; in bfloat16 a near-tie may change.
# It is asked for its answer alone: what it would write next depends on the batch of the prompt.
LARGE = {
    "name": "large",
    "model": str(REPOSITORY / "models" / "reference-large"),
    "dtype": "float32",
    "max_tokens": 1,
}
RESTARTED = ("server-restarted", "database-ended", "database-crashed")
TWICE = "asked-by-two"
SHARDED = "asked-in-shards"
SHARDED_SETTINGS = {"workers": 2, "pairs_per_relation": 60}
MOMENT = "2026-11-16T03:00:00+00:00"
GPU_WORKERS = ("gpu", "gpu-2")
ENDS = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
# The number of prompts after which a fault happens: within the first chunk, before any answer is stored.
IN_THE_MIDDLE = 400
# How long the database is away, as during its upgrade on another host.
AWAY_S = 15.0
Row = dict[str, Any]


@dataclass
class FaultScenario:
    """An installation under faults: what the tests observed, and how long each step took."""

    root: Path
    installation: Installation
    endpoint: Endpoint
    kept: dict[str, str] = field(default_factory=dict)
    """Path -> checksum of the answer files that existed when the worker was killed."""
    regenerated: list[Row] = field(default_factory=list)
    """The two runs of `regenerate`."""
    evaluated_twice: list[Row] = field(default_factory=list)
    kept_of_shards: set[str] = field(default_factory=set)
    """The keys of the prompts that were answered when one of two shards was killed."""
    seconds: dict[str, float] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Return the response of Prefect's server."""
        url = f"{self.installation.api_url}/{path}"
        headers = {"Authorization": authorize(self.installation.environment) or ""}
        answer = httpx.request(method, url, json=body, headers=headers, timeout=30).raise_for_status()
        return answer.json() if answer.content else None

    def start(self, flow: str, **parameters: object) -> str:
        """Start a run of the flow's deployment, and return its id."""
        # The deployment of `regenerate` is named after the configuration too.
        name = "pretexeval.c" if flow == "regenerate" else "pretexeval"
        deployment = self.ask("GET", f"deployments/name/{flow}/{name}")["id"]
        made = self.ask("POST", f"deployments/{deployment}/create_flow_run", {"parameters": parameters})
        return str(made["id"])

    def list_evaluations(self, model: str) -> list[Row]:
        """Return the runs of `evaluate-model` for this model, in the order of their start."""
        body = {"flows": {"name": {"any_": ["evaluate-model"]}}, "sort": "START_TIME_ASC"}
        runs: list[Row] = self.ask("POST", "flow_runs/filter", body)
        return [run for run in runs if run["parameters"]["model_name"] == model]

    def wait(self, what: str, condition: Callable[[], object], timeout_s: float) -> None:
        """Wait until the condition is true."""
        self.seconds[what] = wait_until(condition, what, timeout_s)

    def wait_for_runs(self, what: str, run_ids: list[str], timeout_s: float) -> list[Row]:
        """Wait until all runs have ended, and return them."""

        def read_runs() -> list[Row]:
            return [self.ask("GET", f"flow_runs/{each}") for each in run_ids]

        self.wait(what, lambda: all(run["state_type"] in ENDS for run in read_runs()), timeout_s)
        return read_runs()


def kill_workers(scenario: FaultScenario) -> None:
    """Kill the GPU workers in the middle of the evaluation of the model that vLLM runs in their process."""

    def find_answers() -> dict[str, str]:
        return read_bytes(scenario.root, "responses/large-*/part-*.parquet")

    scenario.wait("first answers", find_answers, 240)
    scenario.kept = find_answers()
    for name in GPU_WORKERS:
        kill_service(scenario.installation, name, signal.SIGKILL)

    def is_noticed() -> bool:
        return "CRASHED" in [run["state_type"] for run in scenario.list_evaluations("large")]

    scenario.wait("the loss is noticed", is_noticed, 240)


def restart_server_and_database(scenario: FaultScenario) -> None:
    """Cause each fault in the middle of the evaluation of the model that is named after it, in any order."""
    faults: dict[str, Callable[[], None]] = {
        "server-restarted": lambda: kill_service(scenario.installation, "server"),
        "database-ended": lambda: take_database_away(scenario.installation),
        "database-crashed": lambda: kill_service(scenario.installation, "database", signal.SIGQUIT),
    }

    def find_asked() -> list[str]:
        return [each for each in faults if count_requests(scenario.endpoint, each).total() >= IN_THE_MIDDLE]

    while faults:
        scenario.wait(f"one of {len(faults)} is asked", find_asked, 240)
        name = find_asked()[0]
        began = time.monotonic()
        faults.pop(name)()
        scenario.seconds[name] = time.monotonic() - began


def take_database_away(installation: Installation) -> None:
    """Shut the database down, and start it again after AWAY_S; a restart alone takes a fifth of a second."""
    installation.control.stopProcess("database")
    time.sleep(AWAY_S)
    installation.start("database")
    installation.wait("database")


def evaluate_twice_at_once(scenario: FaultScenario) -> None:
    """Evaluate a new model by two workers at the same time."""
    models = [build_model_table(TWICE, scenario.endpoint, concurrency=24)]
    file = write_config(
        scenario.root.parent / "twice.toml", scenario.root, knowledge=KNOWLEDGE, models=models
    )
    config = load_config(file).model_dump(mode="json")
    (edition,) = scenario.root.glob("editions/*")
    scenario.ask("PATCH", "work_pools/pretexeval-gpu", {"concurrency_limit": len(GPU_WORKERS)})
    run_ids = [
        scenario.start("evaluate-model", config=config, edition_id=edition.name, model_name=TWICE)
        for _ in GPU_WORKERS
    ]
    scenario.evaluated_twice = scenario.wait_for_runs("both have evaluated", run_ids, 240)


def kill_a_shard(scenario: FaultScenario) -> None:
    """Let `regenerate` evaluate a model by two workers, kill one of their runs, and wait for the end."""
    models = [build_model_table(SHARDED, scenario.endpoint, **SHARDED_SETTINGS)]
    file = write_config(
        scenario.root.parent / "shards.toml", scenario.root, knowledge=KNOWLEDGE, models=models
    )
    run_id = scenario.start("regenerate", config_file=str(file), moment=MOMENT)

    def list_running() -> list[Row]:
        return [run for run in scenario.list_evaluations(SHARDED) if run["state_type"] == "RUNNING"]

    def read_keys() -> set[str]:
        files = list(scenario.root.glob(f"responses/{SHARDED}-*/part-*.parquet"))
        return set(pl.read_parquet(files)["prompt_key"]) if files else set()

    scenario.wait("both shards run", lambda: len(list_running()) == 2, 240)
    scenario.wait("answers of both", lambda: len(read_keys()) >= 2 * TRIAL_CHUNK, 240)
    kill_run(list_running()[0]["id"])
    scenario.kept_of_shards = read_keys()
    (regenerated,) = scenario.wait_for_runs("shards are scored", [run_id], 240)
    assert regenerated["state_type"] == "COMPLETED", regenerated["state"]["message"]
