"""`pretexeval deploy` on a real server: what it registers, changes and removes there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.deploy.prefect_api import KINDS, PrefectApi
from tests.support.command import Outcome, run_command

pytestmark = pytest.mark.long

CONFIG = "configs/quickstart.toml"
OF_CONFIG = "/deployments/name/regenerate/quickstart"
DAILY = '[schedule]\ncron = "30 4 * * *"\ntimezone = "Europe/Berlin"\nperiod = "day"\n'
LARGE_MODEL = """
[[models]]
name = "large"
model = "x"
tensor_parallel_size = 4
pool = "gpu-4x80"
[[models]]
name = "small"
model = "y"
"""


class Registry(PrefectApi):
    """A Prefect server, and a folder with configurations that are deployed there."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        super().__init__(environment)
        self.environment, self.folder = environment, folder

    def deploy(self, *options: str, config: str = CONFIG) -> Outcome:
        return run_command("deploy", config, *options, folder=self.folder, environment=self.environment)


@pytest.fixture
def registry(prefect_server: dict[str, str], tmp_path: Path) -> Iterator[Registry]:
    """The server; everything on it goes after the test, because other tests use the same server."""
    (tmp_path / "configs").mkdir()
    (tmp_path / CONFIG).write_text(LARGE_MODEL)
    registry = Registry(prefect_server, tmp_path)
    yield registry
    for kind in KINDS:
        for each in registry.list_all(kind):
            path = f"/{kind}/{each['name' if kind == 'work_pools' else 'id']}"
            assert registry.client.delete(path).status_code in (204, 404)


def test_registering_is_idempotent_and_what_was_switched_off_stays_off(registry: Registry) -> None:
    registry.deploy().require()
    deployment = registry.get(OF_CONFIG)
    (schedule,) = deployment["schedules"]
    waiting = registry.post("/flow_runs/filter", deployments={"id": {"any_": [deployment["id"]]}})
    assert waiting
    flows = ("evaluate-model", "rephrase-samples")
    names = {f"{flow}/{pool}" for flow in flows for pool in ("gpu", "gpu-4x80")}
    for name in names | {"build-test-set/cpu", "publish/cpu"}:
        there = registry.get(f"/deployments/name/{name}")
        assert there["work_pool_name"] == there["name"]
        assert there["pull_steps"] == deployment["pull_steps"]
    assert len(registry.list_all("deployments")) == 7
    first, *others = [each["id"] for each in registry.list_all("automations")]
    registry.ask("PATCH", f"/deployments/{deployment['id']}/schedules/{schedule['id']}", {"active": False})
    registry.ask("PATCH", f"/automations/{first}", {"enabled": False})
    # A limit of a pool is the user's, too.
    registry.ask("PATCH", "/work_pools/gpu", {"concurrency_limit": 2})
    (registry.folder / CONFIG).write_text(LARGE_MODEL + DAILY)
    changed = registry.deploy().require()
    assert "deployment regenerate/quickstart (30 4 * * * Europe/Berlin, switched off)" in changed.out
    (later,) = registry.get(OF_CONFIG)["schedules"]
    assert (later["id"], later["active"]) == (schedule["id"], False)
    assert later["schedule"] == {"cron": "30 4 * * *", "timezone": "Europe/Berlin", "day_or": True}
    enabled = {each["id"]: each["enabled"] for each in registry.list_all("automations")}
    assert enabled == {first: False} | dict.fromkeys(others, True)
    assert registry.get("/work_pools/gpu")["concurrency_limit"] == 2
    assert len(registry.list_all("deployments")) == 7


def test_a_removed_configuration_leaves_the_others(registry: Registry) -> None:
    (registry.folder / "configs/other.toml").write_text(DAILY)
    for config in (CONFIG, "configs/other.toml"):
        registry.deploy(config=config).require()
    # A file of the same name elsewhere is another configuration, and an active run keeps its deployment.
    (registry.folder / "quickstart.toml").write_text("")
    for options in ((), ("--remove",)):
        refused = registry.deploy(*options, config="quickstart.toml").require(2)
        assert f"regenerate/quickstart runs {registry.folder / CONFIG}" in refused.err
    run = registry.start_run(registry.get(OF_CONFIG)["id"])
    registry.set_state(run["id"], {"type": "RUNNING"}, force=True)
    assert f"{run['name']}: wait for the end or cancel" in registry.deploy("--remove").require(2).err
    registry.set_state(run["id"], {"type": "COMPLETED"}, force=True)
    assert registry.deploy("--remove").require().out == (
        "removed deployment regenerate/quickstart (0 3 * * 1 Etc/UTC)\n"
    )
    assert registry.deploy("--remove").require().out == f"{CONFIG} is not deployed\n"
    left = {each["name"] for each in registry.list_all("deployments")}
    assert left == {"cpu", "gpu", "gpu-4x80", "other"}


def test_runs_in_containers_start_in_their_folder(registry: Registry) -> None:
    """The pools are created with Prefect's own command, which gives them the settings of runs."""
    for pool in ("cpu", "gpu", "gpu-4x80"):
        registry.post("/work_pools/", name=pool, type="kubernetes")
    registry.deploy("--home", "/app").require()
    assert {each["type"] for each in registry.list_all("work_pools")} == {"kubernetes"}
    deployment = registry.get(OF_CONFIG)
    (step,) = deployment["pull_steps"]
    assert step["prefect.deployments.steps.set_working_directory"] == {"directory": "/app"}
    assert deployment["parameters"] == {"config_file": CONFIG}
    environment = registry.get("/deployments/name/evaluate-model/gpu")["job_variables"]["env"]
    assert environment["PREFECT_LOCAL_STORAGE_PATH"] == "/app/data/cache/tasks"
    assert environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert environment["PRETEXEVAL_TIME_LIMIT_H"] == "72"


def test_a_name_that_prefect_refuses_is_reported(registry: Registry) -> None:
    (registry.folder / "a&b.toml").write_text("")
    assert "Prefect refused the deployments" in registry.deploy(config="a&b.toml").require(2).err
