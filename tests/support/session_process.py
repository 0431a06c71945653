"""Processes and folders that all workers of a test session share; processes end with it, also after a crash.

The first worker that needs one makes it. The parent of a process is this module as a program, which waits
for the end of the process that started the session (pytest, or the controller of pytest-xdist), and then ends
its child.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from filelock import FileLock

STOP_S = 10.0


def share(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], dict[str, str]]
) -> dict[str, str]:
    """Return what the first worker of this session made in a folder that all workers share."""
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    common = factory.getbasetemp().parent if is_worker else factory.getbasetemp()
    folder, kept = common / name, common / f"{name}.json"
    with FileLock(common / f"{name}.lock"):
        if not kept.exists():
            folder.mkdir(exist_ok=True)
            kept.write_text(json.dumps(make(folder)))
        found: dict[str, str] = json.loads(kept.read_text())
        return found


def share_root(factory: pytest.TempPathFactory, name: str, write: Callable[[Path], object]) -> Path:
    """Return a data root that the first worker wrote. Pages may be written into it, and nothing else."""

    def make(folder: Path) -> dict[str, str]:
        write(folder / "data")
        return {"root": str(folder / "data")}

    return Path(share(factory, name, make)["root"])


def start_for_session(
    command: list[str], environment: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Start the command so that it ends with the session."""
    session = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, __file__, str(session), *command],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _run(session: int, command: list[str]) -> int:
    """Run the command until it ends or the session does, and return its exit status."""
    process = subprocess.Popen(command)
    try:
        select.select([os.pidfd_open(session), os.pidfd_open(process.pid)], [], [])
    except ProcessLookupError:
        print("the session has ended already")
    process.terminate()
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(0, signal.SIGKILL)
        raise


if __name__ == "__main__":
    sys.exit(_run(int(sys.argv[1]), sys.argv[2:]))
