"""The machine, its models, keys, endpoints, servers and storage: a problem is found, and no key is shown."""

import json
import re
import zipfile
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import pytest
from huggingface_hub import constants

from commands.preflight import doctor as module
from commands.preflight import services
from commands.preflight.doctor import (
    Machine,
    VllmBuild,
    check_local_model,
    check_machine,
    check_vllm,
    inspect_machine,
    measure_free_memory,
)
from commands.preflight.findings import Finding
from commands.preflight.services import (
    check_endpoint,
    check_keys,
    check_room,
    check_server,
    check_shared,
    require_server,
)
from flows.support import keys
from pretexeval.config.engines import ModelConfig
from pretexeval.engines.identity import identify_model
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.gpus import Gpu
from tests.support.object_storage import KEYS, ObjectStorage, serve_rclone
from tests.support.web_server import Route, serve_routes

GB = 1_000_000_000
CPU_BUILD = VllmBuild("0.32.0", "2.13.0+cpu", is_for_cpu=True)
CUDA_BUILD = VllmBuild("0.32.0", "2.13.0+cu130", is_for_cpu=False)
GPU = Gpu("NVIDIA H200", 100 * GB, 99 * GB)
LAPTOP = Machine((), 8 * GB, CPU_BUILD)
SERVER = Machine((GPU, GPU), 8 * GB, CUDA_BUILD)


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
    torchvision = replace(CPU_BUILD, breaking=("torchvision",))
    cases = [
        (LAPTOP, True, "ok", "0.32.0, CPU build, torch 2.13.0+cpu"),
        (replace(LAPTOP, vllm=None), True, "failing", "not installed"),
        (replace(LAPTOP, vllm=None), False, "warning", "not installed"),
        (replace(SERVER, gpus=()), True, "failing", "no GPU is visible"),
        (replace(SERVER, vllm=CPU_BUILD), True, "failing", "run `make gpu`: this build does not use the GPU"),
        (replace(LAPTOP, vllm=replace(CPU_BUILD, torch=None)), True, "failing", "torch missing"),
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
    n_data = n_bytes - 200
    weights = {"w": {"dtype": "U8", "shape": [n_data], "data_offsets": [0, n_data]}}
    header = json.dumps(weights).ljust(192).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(n_bytes)
    return folder


def check(folder: Path | str, machine: Machine, **settings: object) -> Finding:
    table = {"name": "m", "model": str(folder)}
    return check_local_model(ModelConfig.model_validate(table | settings), machine)


def test_weights_against_the_memory(tmp_path: Path) -> None:
    assert check(make_weights(tmp_path / "m", 3 * GB), LAPTOP).found.endswith(": weights of 3.00 GB")
    tiny = check(make_weights(tmp_path / "t", GB // 400), LAPTOP)
    assert tiny.found.endswith(": weights of 2.5 MB")
    small, large = make_weights(tmp_path / "s", 16 * GB), make_weights(tmp_path / "l", 140 * GB)
    busy = replace(SERVER, gpus=(GPU, replace(GPU, free_bytes=60 * GB)))
    # This driver does not report the memory.
    silent = replace(SERVER, gpus=(Gpu("NVIDIA GB10", 0, 0),))
    tensor, pipeline, half = "tensor_parallel_size", "pipeline_parallel_size", "gpu_memory_utilization"
    fitting: list[tuple[Path, Machine, dict[str, object]]] = [
        (small, SERVER, {}),
        (large, SERVER, {tensor: 2}),
        (large, SERVER, {pipeline: 2}),
        (small, busy, {}),
        (small, busy, {tensor: 2, half: 0.5}),
        (large, silent, {}),
    ]
    assert [check(folder, machine, **settings).state for folder, machine, settings in fitting] == ["ok"] * 6
    refused: list[tuple[Path, Machine, dict[str, object], str]] = [
        (small, LAPTOP, {}, r"weights of 16\.00 GB on the CPU, and 8\.00 GB of memory are free"),
        (large, SERVER, {}, r"140\.00 GB over 1 GPU: vLLM takes 90\.00 GB of each"),
        (large, SERVER, {tensor: 2, pipeline: 2}, "pipeline_parallel_size = 4, but this machine has 2 GPUs"),
        (small, busy, {tensor: 2}, r"takes 90\.00 GB of each, 60\.00 GB are free"),
    ]
    for folder, machine, settings, words in refused:
        with pytest.raises(InputError, match=words):
            check(folder, machine, **settings)


def test_bfloat16_against_the_card(tmp_path: Path) -> None:
    turing = replace(SERVER, gpus=(replace(GPU, name="Tesla T4", capability=7.5),))
    for model, dtype in ((make_weights(tmp_path / "m", 1000), "auto"), ("org/not-here", "bfloat16")):
        with pytest.raises(InputError, match=r'bfloat16 needs 8\.0; set dtype = "float16" in the table of m'):
            check(model, turing, dtype=dtype)
    for machine in (turing, replace(turing, gpus=(GPU,))):
        assert check(tmp_path / "m", machine, dtype="float16").state == "ok"


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


def test_the_hub_is_asked_for_access_and_size_before_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = r"accept its terms at https://huggingface.co/o/m .*HF_TOKEN"
    cases: list[tuple[int, str, int, Machine, str]] = [
        (403, "GatedRepo", 3 * GB, LAPTOP, terms),
        (404, "RepoNotFound", 3 * GB, LAPTOP, "no such model"),
        (200, "", 3 * GB, LAPTOP, r"the first run downloads it \(3\.00 GB\)"),
        (200, "", 7 * GB, LAPTOP, r"weights of 7\.00 GB on the CPU, and 8\.00 GB of memory are free"),
        (200, "", 70 * GB, SERVER, r"the first run downloads it \(70\.00 GB\)"),
        (200, "", 95 * GB, SERVER, r"weights of 95\.00 GB over 1 GPU: vLLM takes 90\.00 GB of each"),
        (200, "", 10**18, SERVER, r"its weights take 1000000000\.00 GB, and"),
    ]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(services, "measure_free_space", lambda _: 10**14)
    for status, reason, n_bytes, machine, words in cases:
        # vLLM loads the safetensors of the folder itself, and nothing else.
        sizes = {"a-1.safetensors": n_bytes - GB, "a-2.safetensors": GB, "pytorch_model.bin": n_bytes}
        sizes |= {"original/b.safetensors": n_bytes, "config.json": 700}
        siblings = [{"rfilename": name, "size": size} for name, size in sizes.items()]
        routes: dict[str, Route] = {
            "/api/models/o/m/auth-check": (status, {}),
            "/api/models/o/m/revision/v1?blobs=true": (200, {"id": "o/m", "siblings": siblings}),
        }
        with serve_routes(routes, headers={"X-Error-Code": reason} if reason else None) as web:
            monkeypatch.setattr(constants, "ENDPOINT", web.address)
            try:
                said = check("o/m", machine, revision="v1").found
            except InputError as error:
                said = str(error)
        assert re.search(words, said), said


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


SECRET = "sk-very-secret"
LISTED = {"data": [{"id": "llama"}, {"id": "gemma"}]}
OURS = version("prefect")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MY_KEY", "PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING"):
        monkeypatch.delenv(name, raising=False)


def test_keys_are_found_where_a_run_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {SECRET}\n")
    monkeypatch.setenv("OTHER_KEY", "")
    monkeypatch.setattr(keys, "provide_variables", lambda _: monkeypatch.setenv("OTHER_KEY", SECRET))
    names = ["MY_KEY", "OTHER_KEY"]
    (given, missing) = check_keys(names, ["OPTIONAL_KEY"], has_server=False)
    assert given == Finding("key MY_KEY", "ok", "in the environment as MY_KEY")
    assert missing.state == "failing"
    assert "block 'other-key'" in missing.found
    assert "prefect block create secret" in missing.remedy
    _, found = check_keys(names, ["OPTIONAL_KEY"], has_server=True)
    assert found == Finding("key OTHER_KEY", "ok", "in the Prefect Secret block 'other-key'")


def ask(base_url: str, **settings: object) -> Finding:
    table = {"name": "m", "engine": "openai", "model": "llama", "base_url": base_url}
    return check_endpoint(ModelConfig.model_validate(table | settings))


def test_an_endpoint_is_asked_for_its_list_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that lists nothing, or other models, is a warning; an error is failing."""
    routes: dict[str, Route] = {
        "/v1/models": (200, LISTED),
        "/404/models": (404, {}),
        "/text/models": (200, "text"),
        "/number/models": (200, {"data": [1]}),
        "/401/models": (401, {}),
        "/500/models": (500, {}),
    }
    with serve_routes(routes) as web:
        refused: list[tuple[str, dict[str, object], str]] = [
            (f"{web.address}/401", {}, r"refuses the key \(HTTP 401\)"),
            (f"{web.address}/500", {}, r"an error \(HTTP 500\)"),
            (f"{web.address}/text", {"api_key_env": "MY_KEY"}, "environment variable MY_KEY is not set"),
            ("http://127.0.0.1:9/v1", {}, "does not answer .Connection refused"),
            ("localhost:8000/v1", {}, "base_url is not an address"),
        ]
        for address, settings, words in refused:
            with pytest.raises(InputError, match=words):
                ask(address, **settings)
        states = [ask(f"{web.address}/{name}").state for name in ("404", "text", "number")]
        assert states == ["warning"] * 3
        web.requests.clear()
        monkeypatch.setenv("MY_KEY", SECRET)
        found = ask(f"{web.address}/v1/", api_key_env="MY_KEY")
        unlisted = ask(f"{web.address}/v1", model="lama")
    assert found == Finding("model m", "ok", f"{web.address}/v1 serves llama")
    assert unlisted.state == "warning"
    assert unlisted.found.endswith("does not list lama; it lists llama, gemma")
    assert web.requests == [("/v1/models", f"Bearer {SECRET}"), ("/v1/models", None)]


def test_a_server_and_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "flows run in process" in check_server().found
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:word")
    for theirs, state in ((OURS, "ok"), ("2.0.0", "warning")):
        routes: dict[str, Route] = {"/api/health": (200, True), "/api/admin/version": (200, theirs)}
        with serve_routes(routes) as web:
            monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api/")
            found = check_server()
        assert (found.state, f"version {theirs}" in found.found) == (state, True)
        assert {key for _, key in web.requests} == {"Basic YWRtaW46d29yZA=="}
    # Another service at the address is one message.
    routes = {
        "/page/health": (200, "<!doctype html>"),
        "/busy/health": (503, None),
        "/closed/health": (200, True),
        "/closed/admin/version": (401, None),
    }
    with serve_routes(routes) as web:
        for address, said in (
            (f"{web.address}/none", ": .*does not answer.*;"),
            (f"{web.address}/page", ": .*is not a Prefect server.*;"),
            (f"{web.address}/busy", ": .*HTTP 503.*;"),
            (f"{web.address}/closed", ": .*refuses access.*;"),
            ("http://me:word@127.0.0.1:9/api", ""),
            ("http://127.0.0.1:port/api", ""),
        ):
            monkeypatch.setenv("PREFECT_API_URL", address)
            with pytest.raises(InputError, match=f"PREFECT_API_URL{said}") as raised:
                require_server()
            assert "word" not in str(raised.value)


def test_a_root_that_cannot_be_written_or_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        check_room(Path("/proc/none"))
    assert check_room(tmp_path / "not" / "there").state == "ok"
    monkeypatch.setattr(services, "measure_free_space", lambda *_: 1_000_000)
    assert check_room(tmp_path).state == "failing"
    assert not (tmp_path / "not").exists()


def test_storage_without_conditional_writes_is_failing_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moto: ObjectStorage
) -> None:
    moto.set_environment(monkeypatch)
    assert check_shared(moto.address).state == "ok"
    with serve_rclone(tmp_path) as server:
        server.set_environment(monkeypatch)
        with pytest.raises(InputError, match="conditional writes"):
            check_shared(server.address)
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]


def test_storage_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PATIENCE", timedelta(seconds=1))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    # Without keys the library asks the machine for a role.
    for name in ("AWS_ENDPOINT_URL", "AWS_METADATA_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"no key was found: set AWS_ACCESS_KEY_ID, .*'aws-access-key-id'"):
        check_shared("s3://bucket/a")
