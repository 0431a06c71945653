"""`pretexeval deploy` and `undeploy` on a real server: what they register, change and remove there."""

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from prefect.utilities.templating import apply_values

from tests.commands.deploy.prefect_api import KINDS, PrefectApi, Row
from tests.support.command import Outcome, run_command

pytestmark = pytest.mark.long

# Of a run that waits for its time.
NAME = re.compile(r"regenerate-quickstart-\d{4}-W\d\d")
CONFIG = "configs/quickstart.toml"
OF_CONFIG = "/deployments/name/regenerate/pretexeval.quickstart"
DAILY = '[schedule]\ncron = "30 4 * * *"\ntimezone = "Europe/Berlin"\nperiod = "day"\n'
LARGE_MODEL = """
[[models]]
name = "large"
model = "x"
tensor_parallel_size = 4
pool = "gpu-4x80"
"""
WORKERS = ("--gpus", "0", "--gpus", "gpu-4x80=1,2,3,4")


class Registry(PrefectApi):
    """A Prefect server, and a folder with configurations that are deployed there."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        super().__init__(environment)
        self.environment, self.folder = environment, folder

    def deploy(self, *options: str, config: str = CONFIG) -> Outcome:
        return run_command("deploy", config, *options, folder=self.folder, environment=self.environment)

    def undeploy(self, *options: str, config: str = CONFIG) -> Outcome:
        return run_command("undeploy", config, *options, folder=self.folder, environment=self.environment)

    def list_names(self) -> set[str]:
        """Return kind and name of everything on the server."""
        return {f"{kind} {each['name']}" for kind in KINDS for each in self.list_all(kind)}

    def delete(self, path: str) -> None:
        assert self.client.delete(path).status_code in (204, 404)

    def render(self, flow: str) -> Row:
        """Return the job of a run as a worker of the pool builds it from template and deployment."""
        deployment = self.get(f"/deployments/name/{flow}/pretexeval")
        template = deepcopy(self.get(f"/work_pools/{deployment['work_pool_name']}")["base_job_template"])
        offered = template["variables"]["properties"]
        values = {name: each["default"] for name, each in offered.items() if "default" in each}
        values["env"] |= deployment["job_variables"]["env"]
        job: Row = apply_values(template["job_configuration"], values)
        return job


@pytest.fixture
def registry(prefect_server: dict[str, str], tmp_path: Path) -> Iterator[Registry]:
    """The server; everything on it goes after the test, because other tests use the same server."""
    (tmp_path / "configs").mkdir()
    (tmp_path / CONFIG).write_text("")
    registry = Registry(prefect_server, tmp_path)
    yield registry
    for kind in KINDS:
        for each in registry.list_all(kind):
            registry.delete(f"/{kind}/{each['name' if kind == 'work_pools' else 'id']}")


def test_docker_runs_get_image_volumes_and_environment(registry: Registry) -> None:
    refused = registry.deploy("--pool-type", "docker", config=str(registry.folder / CONFIG)).require(2)
    assert "under /app" in refused.err
    assert registry.list_all("work_pools") == []
    for role, limit in (("cpu", 3), ("gpu", 2)):
        registry.post("/work_pools/", name=f"pretexeval-{role}", type="docker", concurrency_limit=limit)
    changed = registry.deploy("--pool-type", "docker", "--runs", "gpu=5", "--update-pools").require()
    assert "changed    pool pretexeval-gpu (docker, 2 at once before, now docker, 5 at once, " in changed.out
    pools = {
        each["name"]: (each["type"], each["concurrency_limit"]) for each in registry.list_all("work_pools")
    }
    assert pools == {"pretexeval-cpu": ("docker", 3), "pretexeval-gpu": ("docker", 5)}
    cpu, gpu = registry.render("publish"), registry.render("evaluate-model")
    assert (cpu["image"], gpu["image"]) == ("pretexeval-cpu:0.1.0", "pretexeval-gpu:0.1.0")
    assert cpu["volumes"] == gpu["volumes"] == ["pretexeval_data:/app/data", "pretexeval_cache:/cache"]
    assert gpu["env"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert gpu["env"]["PREFECT_LOCAL_STORAGE_PATH"] == "/app/data/cache/tasks"
    assert gpu["env"]["PRETEXEVAL_TIME_LIMIT_H"] == "72"
    (request,) = gpu["container_create_kwargs"]["device_requests"]
    assert request == {"driver": "nvidia", "count": -1, "capabilities": [["gpu"]]}
    assert "device_requests" not in cpu["container_create_kwargs"]
    deployment = registry.get(OF_CONFIG)
    (step,) = deployment["pull_steps"]
    assert step["prefect.deployments.steps.set_working_directory"] == {"directory": "/app"}
    assert deployment["parameters"] == {"config_file": CONFIG}


def test_kubernetes_runs_get_claims_a_gpu_and_keys_from_a_secret(registry: Registry) -> None:
    registry.deploy("--pool-type", "kubernetes").require()
    for flow, limits in (("publish", {}), ("evaluate-model", {"nvidia.com/gpu": 1})):
        pod = registry.render(flow)["job_manifest"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]} == {"data", "cache"}
        assert container["envFrom"] == [{"secretRef": {"name": "pretexeval-keys", "optional": True}}]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["resources"]["limits"] == limits


def test_registering_is_idempotent_and_what_was_switched_off_stays_off(registry: Registry) -> None:
    (registry.folder / CONFIG).write_text(LARGE_MODEL)
    registry.deploy(*WORKERS).require()
    deployment = registry.get(OF_CONFIG)
    (schedule,) = deployment["schedules"]
    waiting = registry.post("/flow_runs/filter", deployments={"id": {"any_": [deployment["id"]]}})
    assert waiting
    assert [run["name"] for run in waiting if not NAME.fullmatch(run["name"])] == []
    first, *others = [each["id"] for each in registry.list_all("automations")]
    registry.ask("PATCH", f"/deployments/{deployment['id']}/schedules/{schedule['id']}", {"active": False})
    registry.ask("PATCH", f"/automations/{first}", {"enabled": False})
    repeated = registry.deploy(*WORKERS).require()
    assert "unchanged  pool pretexeval-gpu (process, no limit)" in repeated.out
    assert {line.split()[0] for line in repeated.out.splitlines()} == {"unchanged"}
    again = registry.get(OF_CONFIG)["schedules"]
    assert [(each["id"], each["active"]) for each in again] == [(schedule["id"], False)]
    enabled = {each["id"]: each["enabled"] for each in registry.list_all("automations")}
    assert enabled == {first: False} | dict.fromkeys(others, True)
    there = registry.list_all("deployments")
    names = [*["pretexeval"] * 4, *["pretexeval.gpu-4x80"] * 2, "pretexeval.quickstart"]
    assert sorted(each["name"] for each in there) == names
    for flow in ("evaluate-model", "rephrase-samples"):
        usual, large = (registry.get(f"/deployments/name/{flow}/{name}") for name in (names[0], names[4]))
        assert large["work_pool_name"] == "pretexeval-gpu-4x80"
        same = ("flow_id", "tags", "pull_steps", "entrypoint", "job_variables", "parameter_openapi_schema")
        assert [large[key] for key in same] == [usual[key] for key in same]
    # A configuration with another schedule: the times change, and what was switched off stays off.
    (registry.folder / CONFIG).write_text(DAILY)
    changed = registry.deploy().require()
    assert (
        "changed    deployment regenerate/pretexeval.quickstart (0 3 * * 1 Etc/UTC, switched off before, "
        "now 30 4 * * * Europe/Berlin, switched off)" in changed.out
    )
    (later,) = registry.get(OF_CONFIG)["schedules"]
    assert later["schedule"] == {"cron": "30 4 * * *", "timezone": "Europe/Berlin", "day_or": True}
    assert later["active"] is False
    # Runs in containers start in another folder, and the type of a pool cannot change.
    assert "not in /app" in registry.deploy("--pool-type", "docker").require(2).err
    for each in there:
        registry.delete(f"/deployments/{each['id']}")
    assert "of type process" in registry.deploy("--pool-type", "docker").require(2).err


def test_undeploying_removes_a_configuration_and_with_the_last_one_what_is_its_own(
    registry: Registry,
) -> None:
    other = "configs/other.toml"
    (registry.folder / CONFIG).write_text(LARGE_MODEL)
    (registry.folder / other).write_text(DAILY)
    # Another installation, whose name begins with that of this one.
    flow = registry.create_flow("regenerate")
    registry.post("/work_pools/", name="pretexeval-2-cpu", type="process")
    tags = ["pretexeval", "pretexeval:pretexeval-2"]
    registry.post("/deployments/", name="pretexeval-2.mine", flow_id=flow, tags=tags)
    theirs = registry.list_names()
    registry.deploy(*WORKERS).require()
    one = registry.list_names()
    registry.deploy(*WORKERS, config=other).require()
    # A file of the same name elsewhere is another configuration, and an active run keeps its deployment.
    (registry.folder / "quickstart.toml").write_text("")
    assert f"runs {CONFIG}" in registry.undeploy(config="quickstart.toml").require(2).err
    run = registry.start_run(registry.get("/deployments/name/regenerate/pretexeval.other")["id"])
    registry.set_state(run["id"], {"type": "RUNNING"}, force=True)
    assert f"{run['name']}: wait for the end or cancel" in registry.undeploy(config=other).require(2).err
    registry.delete(f"/flow_runs/{run['id']}")
    removed = registry.undeploy(config=other).require()
    assert removed.out.splitlines()[0] == (
        "removed    deployment regenerate/pretexeval.other (30 4 * * * Europe/Berlin)"
    )
    assert 'changed    automation "pretexeval: begin a crashed regenerate again"' in removed.out
    assert registry.list_names() == one
    assert registry.undeploy(config=other).require().out == f"{other} is not deployed\n"
    # Somebody else lets flows run in one of the pools.
    guest = registry.post("/deployments/", name="theirs", flow_id=flow, work_pool_name="pretexeval-cpu")
    last = registry.undeploy().require()
    assert "left       pool pretexeval-cpu (the deployment theirs of others uses it)" in last.out
    assert registry.list_names() == {*theirs, "work_pools pretexeval-cpu", "deployments theirs"}
    registry.delete(f"/deployments/{guest['id']}")
    assert registry.undeploy().require().out == "removed    pool pretexeval-cpu\n"
    assert registry.undeploy().require().out == f"{CONFIG} is not deployed\n"
    assert registry.list_names() == theirs
