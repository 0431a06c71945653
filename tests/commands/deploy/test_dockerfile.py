"""The Dockerfile: one file for the images of both roles, with pinned versions and without root."""

import re
from pathlib import Path

from pretexeval.primitives.process import ALLOCATOR_VARIABLES

REPOSITORY = Path(__file__).parents[3]
# Without comments, and with continued lines joined.
LINES = [
    " ".join(line.split())
    for line in re.sub(r"(?m)^\s*#.*\n", "", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))
    .replace("\\\n", " ")
    .splitlines()
    if line.strip()
]
INSTRUCTIONS = [(kind, argument) for kind, _, argument in (line.partition(" ") for line in LINES)]
STAGES = dict(argument.split(" AS ")[::-1] for kind, argument in INSTRUCTIONS if kind == "FROM")


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


def test_the_base_image_is_pinned_and_no_host_or_secret_is_named() -> None:
    (foreign,) = {source for source in STAGES.values() if source not in STAGES}
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", foreign)
    text = "\n".join(LINES)
    assert set(re.findall(r"https?://([^/:'\"]+)", text)) <= {"127.0.0.1"}
    assert re.search(r"(?i)password|token|secret|:latest", text) is None


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


def test_packages_come_only_from_the_lists() -> None:
    runs = [argument for kind, argument in INSTRUCTIONS if kind == "RUN"]
    assert sum(" /build/install.py /build/" in argument for argument in runs) == 2
    own = {argument for argument in runs if "pip install" in argument}
    assert own == {"pip install --no-deps --no-build-isolation -e ."}


def test_what_is_copied_exists_and_holds_no_secret() -> None:
    copies = [argument for kind, argument in INSTRUCTIONS if kind == "COPY" and "--from" not in argument]
    sources = [source for copy in copies for source in copy.split()[:-1]]
    assert sources
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
    ignored = set((REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines())
    assert {".env", ".env.*", ".git", ".venv", "data"} <= ignored
    assert not {"models", "configs", "deploy", "prefect.yaml", "Makefile", "requirements"} & ignored
