"""Ends the installation's processes when the one that started them is gone, however it went.

A worker waits for its flow run when it is asked to end, and PostgreSQL for its clients: all that bear the
mark are asked at once, the flow runs too, because a child inherits the mark.
"""

import signal
import subprocess
from collections.abc import Iterator

from deploy.local.watchdog import Steps, end_marked, find_marked, watch

MARK = "PRETEXEVAL_PROCESSES_OWNER"
# SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
STEPS: Steps = ((signal.SIGTERM, 8.0), (signal.SIGINT, 3.0), (signal.SIGKILL, 3.0))


def start_guard(mark: str) -> "subprocess.Popen[bytes]":
    """The guard of that mark; it acts when its standard input is closed, and then ends."""
    return watch([f"{MARK}={mark}"], STEPS)


def end_processes(mark: str) -> None:
    """Ask everything of that mark to end, and kill what does not."""
    end_marked([f"{MARK}={mark}"], STEPS)


def find_processes(mark: str) -> Iterator[int]:
    """Process ids of all that runs and bears the mark."""
    return find_marked([f"{MARK}={mark}"])
