"""Start the worker of some cards of this host: ``python -m commands.deploy.gpu_worker 0,1 [OPTION …]``.

It serves the work pool for models that take as many cards (`commands/deploy/cards.py`). `none` stands for no
card: vLLM's CPU build serves the pool `gpu`. Further options go to `prefect worker start`.
"""

import argparse
import os
import sys

from commands.deploy.cards import GpuWorker, build_worker_command, read_gpu_worker
from pretexeval.config.installation_names import find_installation

if __name__ == "__main__":
    asked, *more = sys.argv[1:] or ["none"]
    try:
        worker = GpuWorker() if asked == "none" else read_gpu_worker(asked)
    except argparse.ArgumentTypeError as error:
        sys.exit(f"commands.deploy.gpu_worker: {error}")
    pool = find_installation().name_pool(worker.pool)
    command = [*build_worker_command(pool, "--limit", "1"), *more]
    os.execve(sys.executable, command, os.environ | worker.variables)
