"""docker-compose.yml: Compose accepts it, and it keeps the rules of the project."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from commands.deploy.local.services import DEFAULTS

REPOSITORY = Path(__file__).parents[3]
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
EVERY_SERVICE = pytest.mark.parametrize("name", sorted(SERVICES))


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


def test_compose_accepts_every_profile(tmp_path: Path) -> None:
    profiles = [argument for profile in PROFILES for argument in ("--profile", profile)]
    done = run_compose(tmp_path, *profiles, "config", **REQUIRED)
    assert done.returncode == 0, done.stderr
    resolved = YAML(typ="safe").load(done.stdout)
    assert resolved["services"].keys() == SERVICES.keys()
    given = resolved["services"]["server"]["environment"]["PREFECT_SERVER_DATABASE_PASSWORD"]
    # `config` doubles every $, so that its output can be read again.
    assert given.replace("$$", "$") == PASSWORD


@pytest.mark.parametrize("missing", REQUIRED)
def test_compose_requires_passwords(tmp_path: Path, missing: str) -> None:
    done = run_compose(tmp_path, "config", **{k: v for k, v in REQUIRED.items() if k != missing})
    assert done.returncode != 0
    assert missing in done.stderr


@EVERY_SERVICE
def test_a_service_is_pinned_and_confined(name: str) -> None:
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


@EVERY_SERVICE
def test_a_service_restarts_has_a_health_check_and_waits_for_what_it_needs(name: str) -> None:
    service = SERVICES[name]
    if name in ONE_SHOT:
        assert (service["restart"], service["healthcheck"]) == ("no", {"disable": True})
    else:
        assert service["restart"] == "unless-stopped"
        assert {"test", "interval", "timeout", "retries", "start_period"} <= service["healthcheck"].keys()
    for other, how in service.get("depends_on", {}).items():
        wanted = "service_completed_successfully" if other in ONE_SHOT else "service_healthy"
        assert how == {"condition": wanted}
        assert "profiles" not in SERVICES[other]


def test_the_server_has_the_settings_of_an_installation_without_containers() -> None:
    wanted = {key: value for key, value in DEFAULTS.items() if key.startswith("PREFECT_SERVER_")}
    # The image sets this one.
    assert wanted.pop("PREFECT_SERVER_ANALYTICS_ENABLED") == "false"
    assert wanted.items() <= SERVICES["server"]["environment"].items()


def test_data_is_in_named_volumes() -> None:
    volumes = WRITTEN["volumes"]
    mounted = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {mount.partition(":")[0] for mount in mounted if mount[0] not in ".$"} == volumes.keys()
    assert [mount for mount in mounted if mount[0] in ".$" and not mount.endswith(":ro")] == []


def test_every_variable_is_explained_in_the_example() -> None:
    example = (REPOSITORY / "commands" / "deploy" / ".env.example").read_text(encoding="utf-8")
    known = set(re.findall(r"(?m)^(?:# )?([A-Z_]+)=", example))
    used = set(re.findall(r"\$\{([A-Z_]+)", FILE.read_text(encoding="utf-8")))
    passed_on = {k for s in SERVICES.values() for k, v in s.get("environment", {}).items() if v is None}
    assert used | passed_on | {"COMPOSE_PROFILES", "COMPOSE_PROJECT_NAME"} == known
