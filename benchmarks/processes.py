"""Run whole processes, and measure their time and memory."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FinishedProcess:
    """Time, memory and output of a process that succeeded."""

    wall_s: float
    """Wall-clock time, including the start and the end of the interpreter."""
    cpu_s: float
    """CPU time of the process and of the children that it waited for."""
    peak_bytes: int
    """Peak memory of the process, or of the largest of those children."""
    stderr: str


def run_python(arguments: Sequence[str], folder: Path, **variables: str) -> FinishedProcess:
    """Run this interpreter with the arguments in a new process, and measure it as `run_program` does."""
    return run_program([sys.executable, *arguments], folder, **variables)


def run_program(command: Sequence[str], folder: Path, **variables: str) -> FinishedProcess:
    """Run a program in a new process, and measure it.

    Args:
        folder: folder for the files `stdout` and `stderr`.
        variables: environment variables to add.

    Raises:
        SystemExit: if the process fails, with the end of its stderr.
    """
    started = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, **variables})
        _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
    # Linux counts ru_maxrss in KiB.
    return FinishedProcess(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, errors)
