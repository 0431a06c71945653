"""Faults of an installation during one run of the scheduled flow: no answer is lost or asked twice.

The worker is killed, then the server, then the database is restarted, each in the middle of another model's
evaluation; the run was triggered twice; one model is evaluated by two workers at once; and finally one of two
shards of a model is killed.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from commands.deploy.cards import GpuWorker
from commands.deploy.local.installation import start_installation
from tests.flows.installation_faults import (
    GPU_WORKERS,
    LARGE,
    MOMENT,
    RESTARTED,
    SHARDED,
    SHARDED_SETTINGS,
    TWICE,
    FaultScenario,
    evaluate_twice_at_once,
    kill_a_shard,
    kill_workers,
    restart_server_and_database,
)
from tests.support.command import REPOSITORY, read_bytes, run_command, run_process_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES, open_database_folder
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import (
    KNOWLEDGE,
    answer_by_checksum,
    answer_slowly,
    build_model_table,
    count_requests,
    list_different_tables,
)

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultScenario]:
    """Run the scheduled flow through all faults, and return the scenario."""
    root = tmp_path_factory.mktemp("faults") / "data"
    with ExitStack() as stack:
        endpoint = stack.enter_context(serve_endpoint(answer_slowly))
        database = stack.enter_context(open_database_folder())
        n_workers = len(GPU_WORKERS)
        running = stack.enter_context(
            start_installation(
                root, gpu_workers=[GpuWorker()] * n_workers, database=database, folder=REPOSITORY
            )
        )
        models = [LARGE, *(build_model_table(name, endpoint) for name in RESTARTED)]
        config = write_config(root.parent / "c.toml", root, knowledge=KNOWLEDGE, models=models)
        run_command("deploy", config, folder=REPOSITORY, environment=running.environment).require()
        scenario = FaultScenario(root, running, endpoint)
        # One run at a time, so that the model after the first one is not asked when both workers are killed.
        scenario.ask("PATCH", "work_pools/pretexeval-gpu", {"concurrency_limit": 1})
        run_ids = [scenario.start("regenerate", config_file=str(config), moment=MOMENT) for _ in range(2)]
        kill_workers(scenario)
        restart_server_and_database(scenario)
        scenario.regenerated = scenario.wait_for_runs("both have regenerated", run_ids, 400)
        evaluate_twice_at_once(scenario)
        kill_a_shard(scenario)
        print(json.dumps(scenario.seconds, indent=1))
        yield scenario


def test_two_runs_of_the_same_week_complete_and_build_one_edition(story: FaultScenario) -> None:
    assert [run["state_type"] for run in story.regenerated] == ["COMPLETED"] * 2
    # Neither run was ended and started again: after its restart, the server still knew who holds the limit.
    assert [run["run_count"] for run in story.regenerated] == [1, 1]
    assert len(list(story.root.glob("editions/*"))) == 1


def test_evaluation_continues_after_its_worker_was_killed(story: FaultScenario) -> None:
    states = [run["state_type"] for run in story.list_evaluations("large")]
    assert states[:2] == ["CRASHED", "COMPLETED"]
    # The other run of the same week finds the evaluation complete.
    assert states[2:] == ["COMPLETED"]
    assert story.kept.items() <= read_bytes(story.root, "responses/*/part-*.parquet").items()
    record = json.loads(next(story.root.glob("predictions/*/large-*/run.json")).read_text())
    n_kept = sum(pl.read_parquet(story.root / path).height for path in story.kept)
    assert 0 < record["n_asked"] <= record["n_samples"] - n_kept


@pytest.mark.parametrize("name", RESTARTED)
def test_evaluation_survives_a_restart_of_server_or_database(story: FaultScenario, name: str) -> None:
    assert {run["state_type"] for run in story.list_evaluations(name)} == {"COMPLETED"}
    assert set(count_requests(story.endpoint, name).values()) == {1}


def test_two_workers_with_the_same_model_ask_every_prompt_once(story: FaultScenario) -> None:
    first, second = story.evaluated_twice
    assert [run["state_type"] for run in story.evaluated_twice] == ["COMPLETED"] * 2
    begins, ends = (
        [datetime.fromisoformat(run[key]) for run in (first, second)] for key in ("start_time", "end_time")
    )
    assert max(begins) < min(ends)
    assert set(count_requests(story.endpoint, TWICE).values()) == {1}


def test_a_killed_shard_is_started_again_and_loses_only_what_was_in_flight(story: FaultScenario) -> None:
    runs = story.list_evaluations(SHARDED)
    parts = [run["parameters"].get("shard", {}).get("number") for run in runs]
    assert sorted(parts[:2]) == [1, 2]
    assert parts[3] is None
    assert sorted(run["state_type"] for run in runs) == ["COMPLETED"] * 3 + ["CRASHED"]
    assert [run["parameters"].get("is_asked") for run in runs][3]
    counts = count_requests(story.endpoint, SHARDED)
    files = list(story.root.glob(f"responses/{SHARDED}-*/part-*.parquet"))
    answers = pl.read_parquet(files)
    assert answers["prompt_key"].is_unique().all()
    kept = answers.filter(pl.col("prompt_key").is_in(story.kept_of_shards))["prompt"]
    assert {counts[text] for text in kept} == {1}
    assert set(counts) == set(answers["prompt"])


def test_tables_equal_those_of_an_undisturbed_run(story: FaultScenario, tmp_path: Path) -> None:
    manifest = json.loads(next(story.root.glob("editions/*/manifest.json")).read_text())
    series = manifest["configuration"]["series"]
    edition = {"seed": manifest["seed"], "label": manifest["label"]}
    edition |= {"series": series["seed"], "number": series["number"]}
    root = tmp_path / "data"
    with serve_endpoint(answer_by_checksum) as quick:
        models = [LARGE, *(build_model_table(name, quick) for name in (*RESTARTED, TWICE))]
        models.append(build_model_table(SHARDED, quick, **SHARDED_SETTINGS))
        config = write_config(tmp_path / "c.toml", root, knowledge=KNOWLEDGE, edition=edition, models=models)
        run_process_command("run", config, folder=tmp_path, timeout_s=600).require()
    assert list_different_tables(story.root, root) == []
