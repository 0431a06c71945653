"""Simulated hosts: a stand-in for nvidia-smi prints what a driver would say."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from pretexeval.primitives.gpus import MIB, Gpu, find_gpu_doubts, find_gpu_problems, find_gpus, query_gpus
from tests.support.command import REPOSITORY
from tests.support.simulated_host import (
    A100,
    GB10,
    H100,
    K620,
    OLD,
    T4,
    V100,
    VGPU,
    list_cards,
    write_program,
)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of all programs of a host that has a compiler and Python's headers."""
    for name in ("CUDA_VISIBLE_DEVICES", "VLLM_ENABLE_CUDA_COMPATIBILITY", "CC"):
        monkeypatch.delenv(name, raising=False)
    write_program(tmp_path / "gcc")
    (tmp_path / "Python.h").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    return tmp_path


def test_each_host_is_described_in_a_sentence(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = "GRID A100D-20C does not report its compute capability"
    weak = "1 × Tesla V100-SXM2-32GB has compute capability 7.0, and CUDA 13 needs 7.5 or more."
    old = "the driver 550.54.15 is too old .* 580 or later, .*VLLM_ENABLE_CUDA_COMPATIBILITY=1"
    others = "1 × Quadro K620 .*; choose the others with CUDA_VISIBLE_DEVICES"
    # Cards, variables, the problems, and the doubts.
    hosts: list[tuple[list[str], dict[str, str], list[str], list[str]]] = [
        *((rows, {}, [], []) for rows in ([H100], [H100] * 8, [A100, A100], [T4], [GB10])),
        *(([VGPU] * n, {}, [], [silent]) for n in (1, 2)),
        ([V100], {}, [weak], []),
        ([V100] * 8, {}, ["8 × Tesla V100-SXM2-32GB has"], []),
        ([V100, K620], {}, ["1 × Tesla V100", "1 × Quadro K620"], []),
        ([H100, K620], {}, [others], []),
        ([H100, K620], {"CUDA_VISIBLE_DEVICES": "0"}, [], []),
        ([H100, K620], {"CUDA_VISIBLE_DEVICES": "1"}, ["1 × Quadro K620"], []),
        *(([OLD] * n, {}, [old], []) for n in (1, 4)),
        ([OLD], {"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"}, [], []),
        ([V100.replace("580", "550")], {}, ["the driver 550", "compute capability 7.0"], []),
    ]
    for rows, variables, problems, doubts in hosts:
        write_program(host / "nvidia-smi", list_cards(*rows))
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            gpus, error = query_gpus()
            assert (bool(gpus), error) == (True, ""), (rows, variables)
            for found, expected in ((find_gpu_problems(gpus), problems), (find_gpu_doubts(gpus), doubts)):
                for line, words in zip(found, expected, strict=True):
                    assert re.search(words, line), line


@pytest.mark.parametrize(
    ("script", "variables", "error"),
    [
        (None, {}, "there is no nvidia-smi"),
        (list_cards(H100), {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES is empty"),
        ("echo 'No devices were found'", {}, "nvidia-smi lists none"),
        ("echo 'Failed to initialize NVML: version mismatch'; exit 18", {}, "version mismatch"),
        ("echo 'Field \"compute_cap\" is not a valid field' >&2; exit 2", {}, "is not a valid field"),
        ("exit 9", {}, "nvidia-smi fails: exit status 9"),
    ],
)
def test_a_host_without_cards_says_why(
    host: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, variables: dict[str, str], error: str
) -> None:
    if script is not None:
        write_program(host / "nvidia-smi", script)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    gpus, said = query_gpus()
    assert (gpus, error in said) == ((), True)
    assert list(find_gpu_problems(gpus)) == []


def test_what_triton_needs_at_run_time_is_named(host: Path) -> None:
    write_program(host / "nvidia-smi", list_cards(H100))
    for tool, words in (("gcc", "no C compiler"), ("Python.h", "headers of Python")):
        (host / tool).rename(host / "elsewhere")
        (problem,) = find_gpu_problems(find_gpus())
        assert words in problem
        (host / "elsewhere").rename(host / tool)


def test_sizes_are_those_that_the_driver_reports(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(host / "nvidia-smi", list_cards(H100, GB10, A100))
    card = Gpu("NVIDIA GB10", 0, 0, "580.95.05", 12.1, "1", "GPU-1")
    assert find_gpus()[1] == card
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,1")
    other = Gpu("NVIDIA A100-SXM4-80GB", 81920 * MIB, 81000 * MIB, "580.95.05", 8.0, "2", "GPU-2")
    assert find_gpus() == (other, card)


def test_the_installation_is_refused_before_anything_is_installed(host: Path) -> None:
    """The script runs without the packages of the environment."""

    def check(row: str, *options: str) -> "subprocess.CompletedProcess[str]":
        write_program(host / "nvidia-smi", list_cards(row))
        script = str(REPOSITORY / "requirements" / "check_gpu.py")
        command = [sys.executable, *options[:2], script, *options[2:]]
        return subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)

    bare = ("-I", "-S")
    refused = check(V100, *bare)
    assert (refused.returncode, "make gpu: 1 × Tesla V100" in refused.stderr) == (1, True)
    assert "compute capability" not in check(H100, *bare).stderr
    assert "This machine has a card (NVIDIA H100" in check(H100, "-X", "utf8", "--hint").stdout
