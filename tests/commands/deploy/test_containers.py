"""Containers: Dockerfile and docker-compose.yml keep the rules of the project."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from commands.deploy.local import CLIENT_DEFAULTS, SERVER_DEFAULTS
from pretexeval.engines import cards, openai_engine
from pretexeval.primitives.process import ALLOCATOR_VARIABLES
from pretexeval.storage import lease, locks
from tests.support.command import REPOSITORY

FILE = REPOSITORY / "docker-compose.yml"
PROFILES = ("cpu", "gpu", "serve")
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


@pytest.mark.parametrize("serving", ["", "6,7"])
def test_compose_leaves_the_cards_of_a_server_to_it(tmp_path: Path, serving: str) -> None:
    """The file as `docker compose` reads it, with the variables of the example."""
    example = (REPOSITORY / "commands" / "deploy" / ".env.example").read_text(encoding="utf-8")
    written = dict(re.findall(r"(?m)^([A-Z_]+)=(.*)$", example)) | REQUIRED | {"SERVE_GPU_IDS": serving}
    profiles = ["--profile", "gpu", "--profile", "serve"]
    done = run_compose(tmp_path, *profiles, "config", **written)
    assert done.returncode == 0, done.stderr
    services = YAML(typ="safe").load(done.stdout)["services"]
    assert services["gpu-worker"]["command"][2:4] == ["commands.deploy.gpu_worker", f"--except={serving}"]
    assert services["vllm"]["environment"]["CUDA_VISIBLE_DEVICES"] == serving


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
    of_server = {key: value for key, value in SERVER_DEFAULTS.items() if "SERVICES" in key or "LEASE" in key}
    assert of_server.items() <= SERVICES["server"]["environment"].items()
    assert CLIENT_DEFAULTS.items() <= SERVICES["cpu-worker"]["environment"].items()
    shown = tuple(f"{name}." for name in CLIENT_DEFAULTS["PREFECT_LOGGING_EXTRA_LOGGERS"].split(","))
    assert all(module.logger.name.startswith(shown) for module in (openai_engine, cards, lease, locks))
    mounted = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {mount.partition(":")[0] for mount in mounted if mount[0] not in ".$"} == WRITTEN["volumes"].keys()
    assert [mount for mount in mounted if mount[0] in ".$" and not mount.endswith(":ro")] == []
    example = (REPOSITORY / "commands" / "deploy" / ".env.example").read_text(encoding="utf-8")
    known = set(re.findall(r"(?m)^(?:# )?([A-Z_]+)=", example))
    used = set(re.findall(r"\$\{([A-Z_]+)", FILE.read_text(encoding="utf-8")))
    passed_on = {k for s in SERVICES.values() for k, v in s.get("environment", {}).items() if v is None}
    assert used | passed_on | {"COMPOSE_PROFILES", "COMPOSE_PROJECT_NAME"} == known


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


def test_both_roles_run_as_an_ordinary_user_with_their_own_packages_and_the_allocator() -> None:
    assert [argument for kind, argument in INSTRUCTIONS if kind == "USER"] == ["10001:10001"] * 2
    text = "\n".join(LINES)
    for role in ("cpu", "gpu"):
        assert f"COPY --from={role}-packages /opt/venv /opt/venv" in text
        assert f"requirements/{role}.txt" in text
        assert f'"--pool", "{role}"' in text
    # vLLM's server in the image has no compiler for FlashInfer's sampler.
    settings = [f"{name}={value}" for name, value in ALLOCATOR_VARIABLES.items()]
    assert [each for each in (*settings, "VLLM_USE_FLASHINFER_SAMPLER=0") if each not in text] == []
