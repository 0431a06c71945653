"""Deployed runs that are cancelled at several moments, on a real server with real workers."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import polars as pl
import pytest

from commands.deploy.cards import GpuWorker
from commands.deploy.local.installation import start_installation
from tests.flows.installation_faults import ENDS, MOMENT, FaultScenario
from tests.support.command import REPOSITORY, run_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES, open_database_folder
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_slowly, build_model_table, count_requests

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

NAMES = ("first", "second")
# A run that is about to start is cancelled by the server, and its worker then loads the flow once more.
NOTICED_S = 240.0
QUIET_S = 10.0


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultScenario]:
    root = tmp_path_factory.mktemp("cancelled") / "data"
    with ExitStack() as stack:
        endpoint = stack.enter_context(serve_endpoint(answer_slowly))
        database = stack.enter_context(open_database_folder())
        running = stack.enter_context(
            start_installation(root, gpu_workers=[GpuWorker()] * 2, database=database, folder=REPOSITORY)
        )
        # Two shards of the second model, and the first one, for two workers.
        models = [build_model_table("first", endpoint), build_model_table("second", endpoint, workers=2)]
        knowledge = {"relations": ["affected_sites"]}
        config = write_config(root.parent / "c.toml", root, knowledge=knowledge, models=models)
        run_command("deploy", config, folder=REPOSITORY, environment=running.environment).require()
        yield FaultScenario(root, running, endpoint)


def count_asked(scenario: FaultScenario) -> Counter[str]:
    counts = Counter[str]()
    for name in NAMES:
        counts.update({f"{name} {text}": n for text, n in count_requests(scenario.endpoint, name).items()})
    return counts


def read_stored(scenario: FaultScenario) -> set[str]:
    return {
        f"{name} {text}"
        for name in NAMES
        for file in scenario.root.glob(f"responses/{name}-*/part-*.parquet")
        for text in pl.read_parquet(file)["prompt"]
    }


def start_regenerate(scenario: FaultScenario) -> str:
    return scenario.start("regenerate", config_file=str(scenario.root.parent / "c.toml"), moment=MOMENT)


def list_active(scenario: FaultScenario) -> list[str]:
    named = {"flows": {"name": {"any_": ["regenerate", "evaluate-model"]}}}
    runs = scenario.ask("POST", "flow_runs/filter", named)
    # The schedule has made runs of the next weeks.
    return [run["id"] for run in runs if run["state_type"] not in ENDS and not run["auto_scheduled"]]


def test_cancelled_runs_and_their_children_stop_and_every_prompt_is_asked_once(
    scenario: FaultScenario,
) -> None:
    for state, n_more in (("CANCELLING", 1), ("CANCELLED", 60), ("CANCELLING", 250)):
        moment = len(count_asked(scenario)) + n_more
        run_id = start_regenerate(scenario)
        scenario.wait(f"{moment} are asked", lambda m=moment: len(count_asked(scenario)) >= m, 240)  # type: ignore[misc]
        scenario.ask("POST", f"flow_runs/{run_id}/set_state", {"state": {"type": state}})
        scenario.wait("all runs have ended", lambda: not list_active(scenario), NOTICED_S)
        (regenerated,) = scenario.wait_for_runs("it is cancelled", [run_id], NOTICED_S)
        assert regenerated["state_type"] == "CANCELLED"
        asked = count_asked(scenario)
        assert read_stored(scenario) == set(asked)
        time.sleep(QUIET_S)
        # Nothing starts a cancelled run, or one of its children, again.
        assert count_asked(scenario) == asked
        assert not list_active(scenario)
    (regenerated,) = scenario.wait_for_runs("the rest is asked", [start_regenerate(scenario)], 900)
    assert regenerated["state_type"] == "COMPLETED", regenerated["state"]["message"]
    assert set(count_asked(scenario).values()) == {1}
    assert read_stored(scenario) == set(count_asked(scenario))
