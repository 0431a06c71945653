"""The machine and the models that it loads: what is missing, damaged or too large is found."""

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from commands.preflight import machine as module
from commands.preflight.machine import (
    Finding,
    Machine,
    VllmBuild,
    check_local_model,
    check_machine,
    check_vllm,
    inspect_machine,
    measure_free_memory,
)
from pretexeval.config.engines import ModelConfig
from pretexeval.engines.gpus import MIB, Gpu, find_gpus
from pretexeval.engines.identity import identify_model
from pretexeval.primitives.errors import InputError
from tests.support.web_server import QuietHandler, serve

GB = 1_000_000_000
CPU_BUILD = VllmBuild("0.32.0", "2.13.0+cpu", is_for_cpu=True)
CUDA_BUILD = VllmBuild("0.32.0", "2.13.0+cu130", is_for_cpu=False)
GPU = Gpu("NVIDIA H200", 100 * GB, 99 * GB)
LAPTOP = Machine((), 8 * GB, CPU_BUILD)
SERVER = Machine((GPU, GPU), 8 * GB, CUDA_BUILD)


def write_driver(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Write a program nvidia-smi."""
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_gpus_are_those_that_the_driver_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_driver(
        tmp_path, monkeypatch, "echo NVIDIA H200, 143771, 143167; echo 'NVIDIA GB10, [N/A], [N/A]'; echo $3"
    )
    assert find_gpus() == (Gpu("NVIDIA H200", 143771 * MIB, 143167 * MIB), Gpu("NVIDIA GB10", 0, 0))
    # The driver chooses the visible ones by number or by name.
    write_driver(tmp_path, monkeypatch, '[ "$3" = "--id=1,GPU-8932" ] && echo "NVIDIA A100, 81920, 1000"')
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,GPU-8932")
    assert find_gpus() == (Gpu("NVIDIA A100", 81920 * MIB, 1000 * MIB),)
    write_driver(tmp_path, monkeypatch, "exit 9")
    assert find_gpus() == ()


def test_a_container_may_take_less_than_the_machine_has(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("100000000\n")
    (tmp_path / "memory.current").write_text("70000000\n")
    (tmp_path / "memory.stat").write_text("anon 20000000\ninactive_file 50000000\n")
    assert measure_free_memory(tmp_path) == 80_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert measure_free_memory(tmp_path) > 80_000_000
    assert inspect_machine().free_bytes > 0


def test_shared_memory_matters_to_models_that_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [ModelConfig(name="m", model="org/x", tensor_parallel_size=n) for n in (1, 2)]
    assert "shared memory" not in [found.name for found in check_machine(SERVER, models[:1])]
    for n_bytes, state in ((0, "ok"), (1 << 60, "warning")):
        monkeypatch.setattr(module, "MIN_SHARED_BYTES", n_bytes)
        (found,) = (each for each in check_machine(SERVER, models) if each.name == "shared memory")
        assert found.state == state


def test_the_build_against_the_machine() -> None:
    other_torch, torchvision = replace(CPU_BUILD, torch=None), replace(CPU_BUILD, breaking=("torchvision",))
    cases = [
        (LAPTOP, True, "ok", "0.32.0, CPU build, torch 2.13.0+cpu"),
        (replace(LAPTOP, vllm=None), True, "failing", "not installed"),
        (replace(LAPTOP, vllm=None), False, "warning", "not installed"),
        (replace(SERVER, gpus=()), True, "failing", "no GPU is visible"),
        (replace(SERVER, vllm=CPU_BUILD), True, "failing", "run `make gpu`: this build does not use the GPU"),
        (replace(LAPTOP, vllm=other_torch), True, "failing", "torch missing"),
        (replace(LAPTOP, vllm=torchvision), True, "failing", "pip uninstall"),
    ]
    for machine, is_needed, state, words in cases:
        found = check_vllm(machine, is_needed=is_needed)
        assert (found.state, words in f"{found.found} {found.remedy}") == (state, True), found


def make_weights(folder: Path, n_bytes: int) -> Path:
    """Write a model's folder; its weights are a file of that size, all zeros after the header."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"}))
    (folder / "tokenizer.model").write_bytes(b"")
    header = f'{{"w": {{"data_offsets": [0, {n_bytes - 100}]}}}}'.ljust(92).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(n_bytes)
    return folder


def check(folder: Path | str, machine: Machine, **settings: object) -> Finding:
    table = {"name": "m", "model": str(folder)}
    return check_local_model(ModelConfig.model_validate(table | settings), machine)


def test_weights_against_the_memory(tmp_path: Path) -> None:
    assert check(make_weights(tmp_path / "m", 3 * GB), LAPTOP).found.endswith(": weights of 3.00 GB")
    with pytest.raises(InputError, match=r"weights of 6\.00 GB on the CPU, and 8\.00 GB of memory are free"):
        check(make_weights(tmp_path / "m", 6 * GB), LAPTOP)
    small, large = make_weights(tmp_path / "s", 16 * GB), make_weights(tmp_path / "l", 140 * GB)
    assert check(small, SERVER).state == "ok"
    assert check(large, SERVER, tensor_parallel_size=2).state == "ok"
    assert check(large, SERVER, pipeline_parallel_size=2).state == "ok"
    with pytest.raises(InputError, match=r"140\.00 GB over 1 GPUs: vLLM takes 90\.00 GB of each"):
        check(large, SERVER)
    with pytest.raises(InputError, match="pipeline_parallel_size = 4, but this machine has 2 GPUs"):
        check(large, SERVER, tensor_parallel_size=2, pipeline_parallel_size=2)
    busy = replace(SERVER, gpus=(GPU, replace(GPU, free_bytes=60 * GB)))
    assert check(small, busy).state == "ok"
    with pytest.raises(InputError, match=r"takes 90\.00 GB of each, 60\.00 GB are free"):
        check(small, busy, tensor_parallel_size=2)
    assert check(small, busy, tensor_parallel_size=2, gpu_memory_utilization=0.5).state == "ok"
    # This driver does not report the memory.
    assert check(large, replace(SERVER, gpus=(Gpu("NVIDIA GB10", 0, 0),))).state == "ok"


def test_a_hub_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        check("org/tiny", LAPTOP)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    online = check("org/tiny", LAPTOP, revision="v1")
    assert online.state == "warning"
    assert online.remedy.endswith("hf download org/tiny --revision v1")
    repository = tmp_path / "hub" / "models--org--tiny"
    make_weights(repository / "snapshots" / "abc", 2 * GB)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    assert check("org/tiny", LAPTOP).found.endswith("weights of 2.00 GB")
    (repository / "snapshots" / "abc" / "model.safetensors").unlink()
    with pytest.raises(InputError, match="hf download org/tiny"):
        check("org/tiny", LAPTOP)


class Hub(QuietHandler):
    """Answers the question whether the user may download a model as the hub does."""

    def do_GET(self) -> None:
        answers = {"gated": (403, "GatedRepo"), "open": (200, "")}
        code, reason = answers.get(self.path.split("/")[-2], (404, "RepoNotFound"))
        self.send_response(code)
        self.send_header("X-Error-Code", reason)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_the_doctor_knows_which_models_are_gated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serve(Hub) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        gated, lost, free = (module.find_gate(f"o/{name}") for name in ("gated", "lost", "open"))
    assert gated is not None
    assert lost is not None
    assert "accept its terms at https://huggingface.co/o/gated" in gated
    assert "HF_TOKEN" in gated
    assert "no such model" in lost
    assert free is None


def test_weights_of_pytorch_and_code_of_the_model(tmp_path: Path) -> None:
    folder = make_weights(tmp_path / "m", 1000)
    (folder / "model.safetensors").unlink()
    (folder / "modeling_x.py").write_text("x = 1")
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", bytes(1000))
    assert check(folder, LAPTOP).state == "ok"
    found = check(folder, LAPTOP, trust_remote_code=True)
    assert (found.state, "trust_remote_code" in found.found) == ("warning", True)
    plain = ModelConfig(name="m", model=str(folder))
    trusting = plain.model_copy(update={"trust_remote_code": True})
    ids = {identify_model(plain).model_id, identify_model(trusting).model_id}
    (folder / "modeling_x.py").write_text("x = 2")
    assert len(ids | {identify_model(trusting).model_id}) == 3
    (folder / "pytorch_model.bin").write_bytes(b"cut off")
    with pytest.raises(InputError, match="no archive of PyTorch"):
        check(folder, LAPTOP)
