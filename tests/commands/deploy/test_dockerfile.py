"""The Dockerfile: one file for the images of both roles, with pinned versions and without root."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pretexeval.primitives.process import ALLOCATOR_VARIABLES

REPOSITORY = Path(__file__).parents[3]
ROLES = ("cpu", "gpu")


def read_instructions() -> Iterator[tuple[str, str]]:
    """Yield (instruction, argument), with continued lines joined and without comments."""
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            instruction, _, argument = line.strip().partition(" ")
            yield instruction, " ".join(argument.split())


def read_stages() -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """Return stage -> (its base, its instructions)."""
    stages: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for instruction, argument in read_instructions():
        if instruction == "FROM":
            source, _, name = argument.partition(" AS ")
            stages[name] = (source, [])
        else:
            stages[list(stages)[-1]][1].append((instruction, argument))
    return stages


STAGES = read_stages()


def read_lineage(stage: str) -> list[tuple[str, str]]:
    """Return all instructions of the stage and of its bases, in order."""
    source, own = STAGES[stage]
    return [*(read_lineage(source) if source in STAGES else []), *own]


def find_all(stage: str, instruction: str) -> list[str]:
    return [argument for kind, argument in read_lineage(stage) if kind == instruction]


def test_the_base_image_is_pinned_and_no_host_or_secret_is_named() -> None:
    (foreign,) = {source for source, _ in STAGES.values() if source not in STAGES}
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", foreign)
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://([^/:'\"]+)", text)) <= {"127.0.0.1"}
    assert re.search(r"(?i)password|token|secret|:latest", text) is None


@pytest.mark.parametrize("role", ROLES)
def test_a_role_runs_as_an_ordinary_user_with_its_own_packages(role: str) -> None:
    assert find_all(role, "USER") == ["10001:10001"]
    assert [kind for kind, _ in STAGES[role][1]][-2:] == ["USER", "CMD"]
    assert f"--from={role}-packages /opt/venv /opt/venv" in find_all(role, "COPY")
    assert f"requirements/{role}.txt" in " ".join(find_all(f"{role}-packages", "COPY"))
    assert len(find_all(role, "HEALTHCHECK")) == 1
    assert f'"--pool", "pretexeval-{role}"' in find_all(role, "CMD")[0]
    variables = " ".join(find_all(role, "ENV")).split()
    assert {f"{name}={value}" for name, value in ALLOCATOR_VARIABLES.items()} <= set(variables)


def test_packages_come_only_from_the_lists() -> None:
    for command in (argument for kind, argument in read_instructions() if kind == "RUN"):
        for install in re.findall(r"pip install [^|&]*", command):
            assert "--no-deps" in install
            assert "--require-hashes" in install or install.rstrip().endswith("-e .")
            assert " -r /build/" in install or install.rstrip().endswith("-e .")


def test_what_is_copied_exists_and_holds_no_secret() -> None:
    copies = [
        argument for kind, argument in read_instructions() if kind == "COPY" and "--from" not in argument
    ]
    sources = [source for copy in copies for source in copy.split()[:-1]]
    assert sources
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {".env", ".env.*", ".git", ".venv", "data"} <= set(ignored)
    assert not {"models", "configs", "deploy", "prefect.yaml", "Makefile", "requirements"} & set(ignored)
