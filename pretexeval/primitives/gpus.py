"""The cards of this machine, as their driver lists them, without importing torch."""

import os
import shutil
import subprocess
from dataclasses import dataclass

MIB = 1024 * 1024
GPU_QUERY = ("--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")


@dataclass(frozen=True)
class Gpu:
    """A GPU, as its driver reports it."""

    name: str
    total_bytes: int
    free_bytes: int


def find_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that a process started here would see; none without an NVIDIA driver.

    A size that the driver does not report ("[N/A]") is 0.
    """
    command, visible = shutil.which("nvidia-smi"), os.environ.get("CUDA_VISIBLE_DEVICES")
    if command is None or visible == "":
        return ()
    chosen = [] if visible is None else [f"--id={visible}"]
    try:
        done = subprocess.run(
            [command, *GPU_QUERY, *chosen], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    rows = [line.rsplit(", ", 2) for line in done.stdout.splitlines() if line.count(", ") >= 2]
    return tuple(Gpu(name, *(int(n) * MIB if n.isdigit() else 0 for n in sizes)) for name, *sizes in rows)
