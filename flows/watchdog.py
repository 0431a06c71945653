"""Ends Prefect's servers when the process that started them is gone, however it went.

Prefect stops its own server when Python exits in good order; after a kill or a SIGTERM it would go on
for ever. No signal can be caught for `kill -9`, so a small process of its own waits for the end of a
pipe, which the system closes whatever happens, and then ends the servers that bear the mark of the
process that is gone.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "PRETEXEVAL_SERVER_OWNER"
# What Prefect gives to the servers that it starts for one process.
EPHEMERAL = b"PREFECT__SERVER_EPHEMERAL=1"
PATIENCE_S = 5.0

_watchdogs: list[subprocess.Popen[bytes]] = []


def start_watchdog() -> None:
    """Watch over this process from now on; started once, and only where /proc tells what runs."""
    if _watchdogs or not Path("/proc/self/environ").exists():
        return
    mark = os.environ[MARK] = secrets.token_hex(8)
    # A session of its own: Ctrl-C in the terminal must not end it before us. -I -S: up in 20 ms.
    _watchdogs.append(
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A copy: a thread that sets a variable while this starts would take it away from below.
            env=dict(os.environ),
            cwd="/",
            start_new_session=True,
        )
    )


def end_servers(mark: str) -> None:
    """Ask every server of that mark to end, and kill those that do not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in find_servers(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + PATIENCE_S
        while any(find_servers(mark)) and time.monotonic() < deadline:
            time.sleep(0.1)


def find_servers(mark: str) -> Iterator[int]:
    """Process ids of the running servers of that mark."""
    for folder in Path("/proc").glob("[0-9]*"):
        # Gone meanwhile, or another user's; the environment of a dead process is empty.
        with contextlib.suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            if f"{MARK}={mark}".encode() in variables and EPHEMERAL in variables:
                yield int(folder.name)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_servers(sys.argv[1])
