"""Faults of an installation during runs of the scheduled flow: no answer is lost or asked twice.

The worker is killed, then the server and the database are restarted, each in the middle of another model's
evaluation; and the run was triggered twice.
"""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from tests.flows.deployed import Deployed
from tests.support.command import REPOSITORY, Table, read_bytes, run_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES
from tests.support.endpoint import Endpoint, serve_endpoint
from tests.support.fault_models import (
    answer_by_checksum,
    answer_slowly,
    build_model_table,
    build_reference_table,
    count_requests,
    list_different_tables,
    wait_until,
)
from tests.support.installation import start_installation
from tests.support.prefect_server import Row

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

# vLLM asks 8,032 samples of the whole starter base, which takes several times as long as until the first
# answers are stored.
LARGE = build_reference_table("large")
# The endpoint is asked 2,352 of them, which takes half a minute.
N_PAIRS = 7
RESTARTED = ("server-restarted", "database-ended", "database-crashed")
# The number of prompts after which a fault happens: in the middle, when some answers are stored.
IN_THE_MIDDLE = 400
# How long the database is away, as during its upgrade on another host. A restart alone takes 0.2 s.
AWAY_S = 15.0


def build_tables(endpoint: Endpoint) -> list[Table]:
    return [build_model_table(name, endpoint, pairs_per_relation=N_PAIRS) for name in RESTARTED]


@dataclass
class Story(Deployed):
    """An installation under faults, and what was observed."""

    endpoint: Endpoint = field(kw_only=True)
    kept: dict[str, str] = field(default_factory=dict)
    """Path -> checksum of the answer files that existed when the worker was killed."""
    regenerated: list[Row] = field(default_factory=list)
    """The two runs of `regenerate`."""

    def configure(self, name: str, *models: Table) -> Path:
        path = self.root.parent / f"{name}.toml"
        return write_config(path, self.root, models=models)

    def read_answers(self, name: str) -> pl.DataFrame:
        """Return the stored answers of the model with this name."""
        files = list(self.root.glob(f"responses/{name}-*/part-*.parquet"))
        return pl.read_parquet(files) if files else pl.DataFrame({"prompt": [], "prompt_key": []})

    def kill_worker(self) -> None:
        """Kill the GPU worker in the middle of the evaluation of the model that vLLM runs in it."""

        def find_answers() -> dict[str, str]:
            return read_bytes(self.root, "responses/large-*/part-*.parquet")

        wait_until(find_answers, "first answers")
        self.kept = find_answers()
        self.installation.kill("gpu-0", number=signal.SIGKILL)

        def is_noticed() -> bool:
            return "CRASHED" in [run["state_type"] for run in self.list_evaluations("large")]

        wait_until(is_noticed, "the loss is noticed")

    def restart_server_and_database(self) -> None:
        """Cause each fault in the middle of the evaluation of the model that is named after it."""
        faults: dict[str, Callable[[], None]] = {
            "server-restarted": lambda: self.installation.kill("server"),
            "database-ended": lambda: self.installation.take_database_away(AWAY_S),
            "database-crashed": lambda: self.installation.take_database_away(0, signal.SIGQUIT),
        }

        def find_asked() -> list[str]:
            return [name for name in faults if count_requests(self.endpoint, name).total() >= IN_THE_MIDDLE]

        while faults:
            wait_until(find_asked, f"one of {len(faults)} is asked")
            faults.pop(find_asked()[0])()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Run the scheduled flow through all faults."""
    root = tmp_path_factory.mktemp("faults") / "data"
    with ExitStack() as stack:
        endpoint = stack.enter_context(serve_endpoint(answer_slowly))
        running = stack.enter_context(start_installation(root))
        story = Story(root, running, endpoint=endpoint)
        config = story.configure("c", LARGE, *build_tables(endpoint))
        run_command("deploy", config, folder=REPOSITORY, environment=running.environment).require()
        # The worker that starts again takes no other model before the loss is noticed. Two workers that ask
        # the server at the same time would take a run each in spite of this limit.
        story.ask("PATCH", "work_pools/gpu", {"concurrency_limit": 1})
        run_ids = [story.regenerate(config) for _ in range(2)]
        story.kill_worker()
        story.restart_server_and_database()
        story.regenerated = story.wait_for_runs("both have regenerated", run_ids)
        yield story


def test_two_runs_of_the_same_week_complete_and_build_one_edition(story: Story) -> None:
    # Neither run was ended and started again: after its restart, the server still knew who holds the limit.
    assert [(run["state_type"], run["run_count"]) for run in story.regenerated] == [("COMPLETED", 1)] * 2
    assert len(list(story.root.glob("editions/*"))) == 1


def test_evaluation_continues_after_its_worker_was_killed(story: Story) -> None:
    states = [run["state_type"] for run in story.list_evaluations("large")]
    assert states[:2] == ["CRASHED", "COMPLETED"]
    # The other run of the same week finds the evaluation complete.
    assert states[2:] == ["COMPLETED"]
    assert story.kept.items() <= read_bytes(story.root, "responses/*/part-*.parquet").items()
    record = json.loads(next(story.root.glob("predictions/*/large-*/run.json")).read_text())
    n_kept = sum(pl.read_parquet(story.root / path).height for path in story.kept)
    assert 0 < record["n_asked"] <= record["n_samples"] - n_kept


@pytest.mark.parametrize("name", RESTARTED)
def test_evaluation_survives_a_restart_of_server_or_database(story: Story, name: str) -> None:
    ends = [run["state"] for run in story.list_evaluations(name)]
    # The message of another state says why the run ended.
    assert [end["message"] for end in ends if end["type"] != "COMPLETED"] == []
    assert set(count_requests(story.endpoint, name).values()) == {1}


def test_tables_equal_those_of_an_undisturbed_run(
    story: Story, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    manifest = json.loads(next(story.root.glob("editions/*/manifest.json")).read_text())
    series = manifest["configuration"]["series"]
    edition = {"seed": manifest["seed"], "label": manifest["label"]}
    edition |= {"series": series["seed"], "number": series["number"]}
    root = tmp_path / "data"
    with serve_endpoint(answer_by_checksum) as quick:
        models = [LARGE, *build_tables(quick)]
        config = write_config(tmp_path / "c.toml", root, edition=edition, models=models)
        run_command("run", config, folder=tmp_path, environment=prefect_server).require()
    assert list_different_tables(story.root, root) == []
