"""The cards of this machine and what vLLM needs to run on them, without importing torch.

`make gpu` checks a machine with this before anything is installed, so it needs the standard library only.
"""

import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
FIELDS = ("name", "driver_version", "compute_cap", "memory.total", "memory.free", "index", "uuid")
QUERY = (f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits")
# requirements/gpu.txt pins CUDA 13: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
MIN_DRIVER = 580
# CUDA 13 does not support older cards: a V100 has 7.0, a T4 has 7.5.
MIN_CAPABILITY = 7.5
BFLOAT16_CAPABILITY = 8.0
"""From this compute capability on, vLLM computes in bfloat16."""


@dataclass(frozen=True)
class Gpu:
    """A GPU, as its driver reports it."""

    name: str
    total_bytes: int
    """Size of the memory; 0 if the driver does not report it. The same holds for `free_bytes`."""
    free_bytes: int
    driver: str = ""
    capability: float | None = None
    """Compute capability of the card; None if the driver does not report it, for example for a vGPU."""
    index: str = "0"
    """The number by which the driver lists the card, in the order of the PCI bus."""
    uuid: str = ""
    """The name of the card on every host, also where a scheduler shows only some cards to a process."""


def query_gpus() -> tuple[tuple[Gpu, ...], str]:
    """Return the GPUs that a process started here would see, or none and the reason."""
    command, visible = shutil.which("nvidia-smi"), os.environ.get("CUDA_VISIBLE_DEVICES")
    if command is None:
        return (), "there is no nvidia-smi"
    if visible == "":
        return (), "CUDA_VISIBLE_DEVICES is empty"
    chosen = [] if visible is None else [f"--id={visible}"]
    try:
        done = subprocess.run(
            [command, *QUERY, *chosen], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return (), f"nvidia-smi fails: {error}"
    if done.returncode:
        said = " ".join(f"{done.stdout} {done.stderr}".split())
        return (), f"nvidia-smi fails: {said or f'exit status {done.returncode}'}"
    rows = [line.split(", ") for line in done.stdout.splitlines()]
    gpus = tuple(_read_row(*row) for row in rows if len(row) == len(FIELDS))
    if not gpus:
        said = " ".join(done.stdout.split())
        return (), f"nvidia-smi lists none{f': {said}' if said else ''}"
    if visible and len(gpus) > visible.count(",") + 1:
        # An old driver lists all cards, whichever it is asked for.
        gpus = tuple(gpu for gpu in gpus if gpu.index in visible.split(","))
    return gpus, ""


def _read_row(name: str, driver: str, capability: str, total: str, free: str, index: str, uuid: str) -> Gpu:
    """Return the card of a row. In place of what the driver does not know, it writes `[N/A]`."""
    total_bytes, free_bytes = (int(n) * MIB if n.isdigit() else 0 for n in (total, free))
    known = float(capability) if capability.replace(".", "", 1).isdigit() else None
    return Gpu(name, total_bytes, free_bytes, driver, known, index, uuid)


def find_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that a process started here would see; none without an NVIDIA driver."""
    return query_gpus()[0]


def find_gpu_problems(gpus: tuple[Gpu, ...]) -> Iterator[str]:
    """Yield the reasons why vLLM cannot run on these cards, one sentence for cards of one kind.

    A capability that is not reported is no problem: `find_gpu_doubts` names it.
    """
    for driver in dict.fromkeys(gpu.driver for gpu in gpus):
        version = driver.split(".")[0]
        if version.isdigit() and int(version) < MIN_DRIVER and not _is_compatible():
            yield (
                f"the driver {driver} is too old for CUDA 13; install version {MIN_DRIVER} or later, or, for "
                "a datacenter card, the package cuda-compat-13-0, and set VLLM_ENABLE_CUDA_COMPATIBILITY=1."
            )
    old = [gpu for gpu in gpus if gpu.capability is not None and gpu.capability < MIN_CAPABILITY]
    for (name, capability), n in Counter((gpu.name, gpu.capability) for gpu in old).items():
        others = "; choose the others with CUDA_VISIBLE_DEVICES" if len(old) < len(gpus) else ""
        yield (
            f"{n} × {name} has compute capability {capability}, and CUDA 13 needs {MIN_CAPABILITY} or more"
            f"{others}."
        )
    if gpus and not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        yield "there is no C compiler, which vLLM's sampler needs when it runs; install gcc."
    if gpus and not Path(sysconfig.get_path("include"), "Python.h").is_file():
        yield (
            "the headers of Python are missing (Python.h), which vLLM's sampler needs when it runs; install "
            "python3-dev, or the package of the same version of Python."
        )


def find_gpu_doubts(gpus: tuple[Gpu, ...]) -> Iterator[str]:
    """Yield the reasons why vLLM may be unable to run on these cards."""
    for name in dict.fromkeys(gpu.name for gpu in gpus if gpu.capability is None):
        yield (
            f"{name} does not report its compute capability, as a vGPU; CUDA 13 needs {MIN_CAPABILITY} or "
            f"more, and bfloat16 {BFLOAT16_CAPABILITY}."
        )


def _is_compatible() -> bool:
    return os.environ.get("VLLM_ENABLE_CUDA_COMPATIBILITY", "").strip().lower() in ("1", "true")
