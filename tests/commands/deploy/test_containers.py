"""Containers: Dockerfile and docker-compose.yml keep the rules of the project; pools get their settings."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from commands.deploy.deployments import POOLS
from commands.deploy.local.services import DEFAULTS
from commands.deploy.pools import build_template, plan_pools
from pretexeval.config.installation_names import BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.process import ALLOCATOR_VARIABLES
from tests.support.command import REPOSITORY

FILE = REPOSITORY / "docker-compose.yml"
PROFILES = ("cpu", "gpu", "second-gpu", "serve")
ONE_SHOT = {"migrate", "register"}
SECRET = re.compile(r"PASSWORD|KEY|TOKEN|AUTH_STRING")
# The password may contain any characters.
PASSWORD = "p$w@/: #%s"
REQUIRED = {"POSTGRES_PASSWORD": PASSWORD, "PREFECT_API_AUTH_STRING": "admin:word"}
COMPOSE = shutil.which("docker-compose")
# The file as written, with variables; YAML anchors and merges are resolved.
WRITTEN = YAML(typ="safe").load(FILE)
SERVICES: dict[str, dict[str, Any]] = WRITTEN["services"]
# The Dockerfile without comments, and with continued lines joined.
LINES = [
    " ".join(line.split())
    for line in re.sub(r"(?m)^\s*#.*\n", "", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))
    .replace("\\\n", " ")
    .splitlines()
    if line.strip()
]
INSTRUCTIONS = [(kind, argument) for kind, _, argument in (line.partition(" ") for line in LINES)]
STAGES = dict(argument.split(" AS ")[::-1] for kind, argument in INSTRUCTIONS if kind == "FROM")
DOCKER: dict[str, Any] = {
    "job_configuration": {"image": "{{ image }}", "env": "{{ env }}"},
    "variables": {"properties": {"image": {"type": "string"}, "env": {"type": "object"}}},
}


def run_compose(tmp_path: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    if COMPOSE is None:
        pytest.skip("no docker-compose here (Debian: apt-get install docker-compose)")
    inherited = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    (tmp_path / "empty.env").touch()
    return subprocess.run(
        [COMPOSE, "--env-file", str(tmp_path / "empty.env"), "-f", str(FILE), *arguments],
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_compose_accepts_every_profile_and_requires_passwords(tmp_path: Path) -> None:
    profiles = [argument for profile in PROFILES for argument in ("--profile", profile)]
    done = run_compose(tmp_path, *profiles, "config", **REQUIRED)
    assert done.returncode == 0, done.stderr
    resolved = YAML(typ="safe").load(done.stdout)
    assert resolved["services"].keys() == SERVICES.keys()
    given = resolved["services"]["server"]["environment"]["PREFECT_SERVER_DATABASE_PASSWORD"]
    # `config` doubles every $, so that its output can be read again.
    assert given.replace("$$", "$") == PASSWORD
    for missing in REQUIRED:
        done = run_compose(tmp_path, "config", **{k: v for k, v in REQUIRED.items() if k != missing})
        assert done.returncode != 0
        assert missing in done.stderr


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_is_pinned_and_confined_and_waits_for_what_it_needs(name: str) -> None:
    service = SERVICES[name]
    image, _, digest = service["image"].partition("@")
    repository, _, tag = image.rpartition(":")
    # Our own images are built here; those of others have a digest.
    assert repository.startswith("pretexeval-") or re.fullmatch("sha256:[0-9a-f]{64}", digest)
    assert re.match(r"\d+\.\d+", tag), tag
    assert min(map(int, service["user"].split(":"))) > 0
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "ipc"} & service.keys()
    ports = service.get("ports", [])
    assert [port for port in ports if not port.startswith("${BIND_ADDRESS:-127.0.0.1}:")] == []
    assert name != "database" or not ports
    assert ("deploy" in service) == ("-gpu" in service["image"])
    secrets = {key: value for key, value in service.get("environment", {}).items() if SECRET.search(key)}
    # None: passed on from .env; `:?`: required there.
    required = tuple(f"${{{each}:?" for each in REQUIRED)
    assert {k: v for k, v in secrets.items() if v is not None and not v.startswith(required)} == {}
    if name in ONE_SHOT:
        assert (service["restart"], service["healthcheck"]) == ("no", {"disable": True})
    else:
        assert service["restart"] == "unless-stopped"
        assert {"test", "interval", "timeout", "retries", "start_period"} <= service["healthcheck"].keys()
    for other, how in service.get("depends_on", {}).items():
        wanted = "service_completed_successfully" if other in ONE_SHOT else "service_healthy"
        assert how == {"condition": wanted}
        assert "profiles" not in SERVICES[other]


def test_compose_has_the_settings_of_an_installation_and_explains_its_variables() -> None:
    wanted = {key: value for key, value in DEFAULTS.items() if key.startswith("PREFECT_SERVER_")}
    # The image sets this one.
    assert wanted.pop("PREFECT_SERVER_ANALYTICS_ENABLED") == "false"
    assert wanted.items() <= SERVICES["server"]["environment"].items()
    mounted = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {mount.partition(":")[0] for mount in mounted if mount[0] not in ".$"} == WRITTEN["volumes"].keys()
    assert [mount for mount in mounted if mount[0] in ".$" and not mount.endswith(":ro")] == []
    example = (REPOSITORY / "commands" / "deploy" / ".env.example").read_text(encoding="utf-8")
    known = set(re.findall(r"(?m)^(?:# )?([A-Z_]+)=", example))
    used = set(re.findall(r"\$\{([A-Z_]+)", FILE.read_text(encoding="utf-8")))
    passed_on = {k for s in SERVICES.values() for k, v in s.get("environment", {}).items() if v is None}
    assert used | passed_on | {"COMPOSE_PROFILES", "COMPOSE_PROJECT_NAME"} == known


def find_all(role: str, instruction: str) -> list[str]:
    """Return the arguments of an instruction in the stage of a role and in its bases."""
    found: list[str] = []
    current = ""
    lineage = [role]
    while lineage[-1] in STAGES:
        lineage.append(STAGES[lineage[-1]])
    for kind, argument in INSTRUCTIONS:
        current = argument.split(" AS ")[-1] if kind == "FROM" else current
        found += [argument] if kind == instruction and current in lineage else []
    return found


def test_an_image_is_pinned_has_only_listed_packages_and_names_no_host_or_secret() -> None:
    (foreign,) = {source for source in STAGES.values() if source not in STAGES}
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", foreign)
    text = "\n".join(LINES)
    assert set(re.findall(r"https?://([^/:'\"]+)", text)) <= {"127.0.0.1"}
    assert re.search(r"(?i)password|token|secret|:latest", text) is None
    runs = [argument for kind, argument in INSTRUCTIONS if kind == "RUN"]
    assert sum(" /build/install.py /build/" in argument for argument in runs) == 2
    own = {argument for argument in runs if "pip install" in argument}
    assert own == {"pip install --no-deps --no-build-isolation -e ."}
    copies = [argument for kind, argument in INSTRUCTIONS if kind == "COPY" and "--from" not in argument]
    sources = [source for copy in copies for source in copy.split()[:-1]]
    assert sources
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
    ignored = set((REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines())
    assert {".env", ".env.*", ".git", ".venv", "data"} <= ignored
    assert not {"models", "configs", "deploy", "prefect.yaml", "Makefile", "requirements"} & ignored


def test_a_role_runs_as_an_ordinary_user_with_its_own_packages() -> None:
    for role in ("cpu", "gpu"):
        assert find_all(role, "USER") == ["10001:10001"]
        assert f"--from={role}-packages /opt/venv /opt/venv" in find_all(role, "COPY")
        assert f"requirements/{role}.txt" in " ".join(find_all(f"{role}-packages", "COPY"))
        assert len(find_all(role, "HEALTHCHECK")) == 1
        assert f'"--pool", "pretexeval-{role}"' in find_all(role, "CMD")[0]
        variables = " ".join(find_all(role, "ENV")).split()
        assert {f"{name}={value}" for name, value in ALLOCATOR_VARIABLES.items()} <= set(variables)
        # vLLM's server in the image has no compiler for FlashInfer's sampler.
        assert role == "cpu" or "VLLM_USE_FLASHINFER_SAMPLER=0" in variables


def write_pools(path: Path, env: str = "", variables: str = 'image = "ours:1"') -> Path:
    path.write_text(f'home = "/app"\n[docker.all.variables]\n{variables}\n[docker.all.variables.env]\n{env}')
    return path


def test_runs_in_containers_link_to_the_web_server_of_their_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BASE_URL_VARIABLE, "https://reports.example.org/")
    addresses = {"/app/data": "https://reports.example.org", "/somewhere/else": "http://127.0.0.1:8080"}
    for served, address in addresses.items():
        monkeypatch.setenv(SERVED_ROOT_VARIABLE, served)
        for table in plan_pools("docker", POOLS, ["gpu-4x80"]).tables.values():
            env = table["variables"]["env"]
            assert (env.get(BASE_URL_VARIABLE), env[SERVED_ROOT_VARIABLE]) == (address, "/app/data")


def test_docker_pools_use_the_names_of_compose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BASE_URL_VARIABLE, raising=False)
    tables = plan_pools("docker", POOLS).tables
    address = WRITTEN["x-worker"][BASE_URL_VARIABLE]
    assert address == "${PRETEXEVAL_BASE_URL:-http://127.0.0.1:${REPORT_PORT:-8080}}"
    assert tables["cpu"]["variables"]["env"][BASE_URL_VARIABLE] == "http://127.0.0.1:8080"
    for pool in ("cpu", "gpu"):
        variables, service = tables[pool]["variables"], SERVICES[f"{pool}-worker"]
        assert variables["image"] == service["image"]
        own = {f"pretexeval_{mount}" for mount in service["volumes"] if mount[0] != "."}
        assert set(variables["volumes"]) <= own
        named = {volume.partition(":")[0].removeprefix("pretexeval_") for volume in variables["volumes"]}
        assert named <= WRITTEN["volumes"].keys()


def test_variables_of_a_pool_become_defaults_of_the_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BASE_URL_VARIABLE, raising=False)
    plan = plan_pools("docker", write_pools(tmp_path / "pools.toml", 'A = "1"'))
    template = build_template(DOCKER, "docker", plan.tables["gpu"])
    assert template["variables"]["properties"]["image"]["default"] == "ours:1"
    assert template["variables"]["properties"]["env"]["default"] == {"A": "1"}
    assert "default" not in DOCKER["variables"]["properties"]["image"]
    plan = plan_pools("docker", write_pools(tmp_path / "pools.toml", variables='imagee = "ours:1"'))
    with pytest.raises(InputError, match=r"no variable 'imagee'; it has image, env"):
        build_template(DOCKER, "docker", plan.tables["cpu"])
    with pytest.raises(InputError, match=r"a table \[kubernetes\]"):
        plan_pools("kubernetes", write_pools(tmp_path / "pools.toml"))
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "PREFECT_API_AUTH_STRING"):
        with pytest.raises(InputError, match=f"{name} looks like a secret") as refusal:
            plan_pools("docker", write_pools(tmp_path / "pools.toml", f'{name} = "hush-hush"'))
        assert "hush" not in str(refusal.value)


def test_a_named_pool_has_the_settings_of_the_gpu_pool_and_its_own(tmp_path: Path) -> None:
    file = tmp_path / "pools.toml"
    file.write_text(
        'home = "/app"\n[docker.gpu.variables]\nimage = "a"\nnetworks = ["n"]\n'
        '[docker.gpu-4x80.variables]\nimage = "b"\n'
    )
    tables = plan_pools("docker", file, ["gpu-4x80", "other"]).tables
    assert tables["gpu-4x80"]["variables"] == {"image": "b", "networks": ["n"]}
    assert tables["other"] == tables["gpu"]
