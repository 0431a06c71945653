import os
from pathlib import Path

import pytest

from preflight.machine import (
    MIB,
    Gpu,
    find_gpus,
    find_vllm_build,
    inspect_machine,
    measure_free_memory,
    read_gpus,
)

LISTING = "NVIDIA H200, 143771, 143167\nNVIDIA A100-SXM4-80GB, 81920, 1000\n"
H200 = Gpu("NVIDIA H200", 143771 * MIB, 143167 * MIB)
A100 = Gpu("NVIDIA A100-SXM4-80GB", 81920 * MIB, 1000 * MIB)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program nvidia-smi that prints the file `listing`."""
    command = tmp_path / "bin" / "nvidia-smi"
    command.parent.mkdir()
    (tmp_path / "listing").write_text(LISTING)
    command.write_text(f"#!/bin/sh\ncat {tmp_path / 'listing'} || exit 9\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path / "listing"


def test_gpus_are_read_as_the_driver_lists_them() -> None:
    assert read_gpus(LISTING) == (H200, A100)
    assert read_gpus("NVIDIA GB10, [N/A], [N/A]\n") == (Gpu("NVIDIA GB10", 0, 0),)
    assert read_gpus("") == ()
    assert read_gpus("No devices were found\n") == ()


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, (H200, A100)),
        ("1", (A100,)),
        ("1,0", (A100, H200)),
        ("", ()),
        ("-1", ()),
        ("GPU-8932", (H200,)),
    ],
)
@pytest.mark.usefixtures("driver")
def test_only_visible_gpus_count(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, expected: tuple[Gpu, ...]
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert find_gpus() == expected


def test_a_driver_that_fails_shows_no_gpu(driver: Path) -> None:
    driver.unlink()
    assert find_gpus() == ()


def test_a_container_may_take_less_than_the_machine_has(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("100000000\n")
    (tmp_path / "memory.current").write_text("70000000\n")
    (tmp_path / "memory.stat").write_text("anon 20000000\ninactive_file 50000000\n")
    assert measure_free_memory(tmp_path) == 80_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert measure_free_memory(tmp_path) > 80_000_000


def test_this_machine_is_described() -> None:
    machine, build = inspect_machine(), find_vllm_build()
    assert machine.n_cores >= 1
    assert machine.vllm == build
    if build is not None and build.is_for_cpu:
        assert not machine.uses_gpus
        assert machine.n_devices == machine.n_numa_nodes
