"""What happens to an installation that regenerates, one thing after the other: told once, judged by tests."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from config.file import load_config
from deploy.local.processes import Running
from tests.support.command import REPOSITORY, read_bytes, write_config
from tests.support.endpoint import Endpoint
from tests.support.fault_models import KNOWLEDGE, count_asked, name_model, wait_until

# In float32 a reference model says the same in every batch; in bfloat16 a near-tie may fall the other way.
LARGE = {"name": "large", "model": str(REPOSITORY / "models" / "reference-large"), "dtype": "float32"}
RESTARTED = ("server-restarted", "database-ended", "database-crashed")
TWICE = "asked-by-two"
GPU_WORKERS = ("gpu", "gpu-2")
ENDS = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
# In the first chunk of answers: nothing is kept yet.
IN_THE_MIDDLE = 400
# What the database of another host may take to be upgraded.
AWAY_S = 15.0
Row = dict[str, Any]


@dataclass
class Story:
    """The installation, what was seen, and how long everything took."""

    root: Path
    running: Running
    endpoint: Endpoint
    kept: dict[str, str] = field(default_factory=dict)
    """The files of answers that were there when the worker was killed."""
    regenerated: list[Row] = field(default_factory=list)
    both: list[Row] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """What Prefect's server says."""
        url = f"{self.running.api_url}/{path}"
        answer = httpx.request(method, url, json=body, timeout=30).raise_for_status()
        return answer.json() if answer.content else None

    def start(self, flow: str, **parameters: object) -> str:
        """The id of a new run of the deployment of that name."""
        deployment = self.ask("GET", f"deployments/name/{flow}/{flow}")["id"]
        made = self.ask("POST", f"deployments/{deployment}/create_flow_run", {"parameters": parameters})
        return str(made["id"])

    def list_evaluations(self, model: str) -> list[Row]:
        """The runs that were to evaluate the model of that name, in the order in which they began."""
        body = {"flows": {"name": {"any_": ["evaluate-model"]}}, "sort": "START_TIME_ASC"}
        runs: list[Row] = self.ask("POST", "flow_runs/filter", body)
        return [run for run in runs if run["parameters"]["model_name"] == model]

    def wait(self, what: str, is_so: Callable[[], object], timeout_s: float) -> None:
        """Until it is so; what has ended meanwhile is started again, as `deploy.local` does."""
        self.seconds[what] = wait_until(is_so, what, timeout_s, self.running.revive)

    def wait_for_runs(self, what: str, run_ids: list[str], timeout_s: float) -> list[Row]:
        """The runs, all of which have ended."""

        def read_runs() -> list[Row]:
            return [self.ask("GET", f"flow_runs/{each}") for each in run_ids]

        self.wait(what, lambda: all(run["state_type"] in ENDS for run in read_runs()), timeout_s)
        return read_runs()


def kill_workers(story: Story) -> None:
    """`kill -9` in the middle of the evaluation of the model that is in a worker's own process."""

    def find_answers() -> dict[str, str]:
        return read_bytes(story.root, "responses/large-*/part-*.parquet")

    story.wait("first answers", find_answers, 240)
    story.kept = find_answers()
    for name in GPU_WORKERS:
        story.running.kill_worker(name)
    for name in GPU_WORKERS:
        story.running.restart_worker(name)

    def is_noticed() -> bool:
        return "CRASHED" in [run["state_type"] for run in story.list_evaluations("large")]

    story.wait("the loss is noticed", is_noticed, 240)


def restart_what_runs_need(story: Story) -> None:
    """Each in the middle of the evaluation of the model that is named after it, in any order."""
    faults: dict[str, Callable[[], None]] = {
        "server-restarted": story.running.restart_server,
        "database-ended": lambda: take_database_away(story.running),
        "database-crashed": lambda: story.running.restart_database(signal.SIGQUIT),
    }

    def find_asked() -> list[str]:
        return [each for each in faults if count_asked(story.endpoint, each).total() >= IN_THE_MIDDLE]

    while faults:
        story.wait(f"one of {len(faults)} is asked", find_asked, 240)
        name = find_asked()[0]
        began = time.monotonic()
        faults.pop(name)()
        story.seconds[name] = time.monotonic() - began


def take_database_away(running: Running) -> None:
    """Ended in order and started again; by itself that takes a fifth of a second."""
    database = running.services["database"]
    database.end(signal.SIGINT)
    time.sleep(AWAY_S)
    database.start()
    database.wait()


def evaluate_twice_at_once(story: Story) -> None:
    """A model that was never asked, by two workers; then everything is published."""
    models = [name_model(TWICE, story.endpoint, concurrency=24)]
    file = write_config(story.root.parent / "twice.toml", story.root, knowledge=KNOWLEDGE, models=models)
    config = load_config(file).model_dump(mode="json")
    (edition,) = story.root.glob("editions/*")
    story.ask("PATCH", "work_pools/gpu", {"concurrency_limit": len(GPU_WORKERS)})
    run_ids = [
        story.start("evaluate-model", config=config, edition_id=edition.name, model_name=TWICE)
        for _ in GPU_WORKERS
    ]
    story.both = story.wait_for_runs("both have evaluated", run_ids, 240)
    published = story.start("publish", config=config, edition_id=edition.name)
    story.wait_for_runs("published", [published], 120)
