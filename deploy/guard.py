"""Ends the processes that another one started when that one is gone, however it went.

As flows/watchdog.py does for the servers of a command: no signal can be caught for `kill -9`, so a small
process waits for the end of a pipe, which the system closes whatever happens. A worker waits for its flow
run when it is asked to end, and PostgreSQL for its clients: all that bear the mark are asked at once, the
flow runs too, because a child inherits the mark.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "PRETEXEVAL_PROCESSES_OWNER"
PATIENCE_S = 8.0


def start_guard(mark: str) -> "subprocess.Popen[bytes]":
    """The guard of that mark; it acts when its standard input is closed, and then ends."""
    return subprocess.Popen(
        # -I -S: up in 20 ms.
        [sys.executable, "-I", "-S", __file__, mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def end_processes(mark: str) -> None:
    """Ask everything of that mark to end, and kill what does not."""
    # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
    for number, patience_s in ((signal.SIGTERM, PATIENCE_S), (signal.SIGINT, 3.0), (signal.SIGKILL, 3.0)):
        for pid in find_processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while any(find_processes(mark)) and time.monotonic() < deadline:
            time.sleep(0.1)


def find_processes(mark: str) -> Iterator[int]:
    """Process ids of all that runs and bears the mark."""
    for folder in Path("/proc").glob("[0-9]*"):
        # Gone meanwhile, or another user's; the environment of a dead process is empty.
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_processes(sys.argv[1])
