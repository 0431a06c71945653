"""Pools of containers: the settings of their runs, and the settings that are refused."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from commands.deploy.deployments import POOLS
from commands.deploy.pools import build_template, plan_pools
from pretexeval.config.installation_names import BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE
from pretexeval.primitives.errors import InputError
from tests.support.command import REPOSITORY

DOCKER: dict[str, Any] = {
    "job_configuration": {"image": "{{ image }}", "env": "{{ env }}"},
    "variables": {"properties": {"image": {"type": "string"}, "env": {"type": "object"}}},
}


def write_pools(path: Path, env: str = "", variables: str = 'image = "ours:1"') -> Path:
    path.write_text(f'home = "/app"\n[docker.all.variables]\n{variables}\n[docker.all.variables.env]\n{env}')
    return path


@pytest.mark.parametrize(
    ("served", "address"),
    [("/app/data", "https://reports.example.org"), ("/somewhere/else", "http://127.0.0.1:8080")],
)
def test_runs_in_containers_link_to_the_web_server_of_their_folder(
    served: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BASE_URL_VARIABLE, "https://reports.example.org/")
    monkeypatch.setenv(SERVED_ROOT_VARIABLE, served)
    for table in plan_pools("docker", POOLS, ["gpu-4x80"]).tables.values():
        env = table["variables"]["env"]
        assert env.get(BASE_URL_VARIABLE) == address
        assert env[SERVED_ROOT_VARIABLE] == "/app/data"


def test_docker_pools_use_the_names_of_compose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BASE_URL_VARIABLE, raising=False)
    compose = YAML(typ="safe").load(REPOSITORY / "docker-compose.yml")
    tables = plan_pools("docker", POOLS).tables
    address = compose["x-worker"][BASE_URL_VARIABLE]
    assert address == "${PRETEXEVAL_BASE_URL:-http://127.0.0.1:${REPORT_PORT:-8080}}"
    assert tables["cpu"]["variables"]["env"][BASE_URL_VARIABLE] == "http://127.0.0.1:8080"
    for pool, service in (("cpu", "cpu-worker"), ("gpu", "gpu-worker")):
        variables = tables[pool]["variables"]
        assert variables["image"] == compose["services"][service]["image"]
        own = [f"pretexeval_{mount}" for mount in compose["services"][service]["volumes"] if mount[0] != "."]
        assert set(variables["volumes"]) <= set(own)
        assert {
            volume.partition(":")[0].removeprefix("pretexeval_") for volume in variables["volumes"]
        } <= set(compose["volumes"])


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "HF_TOKEN", "PREFECT_API_AUTH_STRING"])
def test_a_secret_in_the_job_variables_is_refused(tmp_path: Path, name: str) -> None:
    file = write_pools(tmp_path / "pools.toml", f'{name} = "hush-hush"')
    with pytest.raises(InputError, match=f"{name} looks like a secret") as refusal:
        plan_pools("docker", file)
    assert "hush" not in str(refusal.value)


def test_missing_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a table \[kubernetes\]"):
        plan_pools("kubernetes", write_pools(tmp_path / "pools.toml"))


def test_variables_become_defaults_of_the_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BASE_URL_VARIABLE, raising=False)
    plan = plan_pools("docker", write_pools(tmp_path / "pools.toml", 'A = "1"'))
    template = build_template(DOCKER, "docker", plan.tables["gpu"])
    assert template["variables"]["properties"]["image"]["default"] == "ours:1"
    assert template["variables"]["properties"]["env"]["default"] == {"A": "1"}
    assert "default" not in DOCKER["variables"]["properties"]["image"]
    plan = plan_pools("docker", write_pools(tmp_path / "pools.toml", variables='imagee = "ours:1"'))
    with pytest.raises(InputError, match=r"no variable 'imagee'; it has image, env"):
        build_template(DOCKER, "docker", plan.tables["cpu"])


def test_a_named_pool_has_the_settings_of_the_gpu_pool_and_its_own(tmp_path: Path) -> None:
    file = tmp_path / "pools.toml"
    file.write_text(
        'home = "/app"\n[docker.gpu.variables]\nimage = "a"\nnetworks = ["n"]\n'
        '[docker.gpu-4x80.variables]\nimage = "b"\n'
    )
    tables = plan_pools("docker", file, ["gpu-4x80", "other"]).tables
    assert tables["gpu-4x80"]["variables"] == {"image": "b", "networks": ["n"]}
    assert tables["other"] == tables["gpu"]
