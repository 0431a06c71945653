"""Whole processes: how long they take, and how much memory."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finished:
    """A process that ended well."""

    wall_s: float
    """From its start to its end, the interpreter's included."""
    cpu_s: float
    """Of the process and of the children that it waited for."""
    peak_bytes: int
    """The most memory that it, or the largest of those children, held at once."""
    stderr: str


def run_python(arguments: Sequence[str], folder: Path, **variables: str) -> Finished:
    """Run this interpreter in a process of its own, from the repository's folder.

    Args:
        folder: where its output goes, as `stdout` and `stderr`.
        variables: environment variables beside those of this process.

    Raises:
        SystemExit: if it fails, with the end of what it said.
    """
    started = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=out, stderr=err, env={**os.environ, **variables}
        )
        _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}:\n{said[-2000:]}")
    # Linux counts ru_maxrss in KiB.
    return Finished(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, said)
