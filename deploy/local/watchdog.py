"""Ends the processes that another one started when that one is gone, however it went.

Prefect stops its own server when Python exits in good order; after a kill or a SIGTERM it would go on
for ever. No signal can be caught for `kill -9`, so a small process of its own waits for the end of a
pipe, which the system closes whatever happens, and then ends what bears the mark of the process that
is gone. A mark is a variable of the environment: children inherit it.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

MARK = "PRETEXEVAL_SERVER_OWNER"
# What Prefect gives to the servers that it starts for one process.
EPHEMERAL = "PREFECT__SERVER_EPHEMERAL=1"
# Signals one after the other, and how many seconds each is given.
Steps = Sequence[tuple[int, float]]
STEPS: Steps = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))

_watchdogs: list["subprocess.Popen[bytes]"] = []


def start_watchdog() -> None:
    """Watch over the servers of this process from now on; started once, and only where /proc is."""
    if _watchdogs or not Path("/proc/self/environ").exists():
        return
    mark = os.environ[MARK] = secrets.token_hex(8)
    _watchdogs.append(watch([f"{MARK}={mark}", EPHEMERAL], STEPS))


def watch(variables: Sequence[str], steps: Steps) -> "subprocess.Popen[bytes]":
    """A process that acts when its standard input is closed, and then ends.

    Args:
        variables: NAME=VALUE; whatever has all of them in its environment is ended.
    """
    return subprocess.Popen(
        # -I -S: up in 20 ms.
        [sys.executable, "-I", "-S", __file__, *variables, "--", *(f"{n:d}:{s:g}" for n, s in steps)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A copy: a thread that sets a variable while this starts would take it away from below.
        env=dict(os.environ),
        cwd="/",
        # A session of its own: Ctrl-C in the terminal must not end it before us.
        start_new_session=True,
    )


def end_marked(variables: Sequence[str], steps: Steps) -> None:
    """Send the first signal to everything of that mark, and the next to what does not end in time."""
    for number, patience_s in steps:
        for pid in find_marked(variables):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while any(find_marked(variables)) and time.monotonic() < deadline:
            time.sleep(0.1)


def find_marked(variables: Sequence[str]) -> Iterator[int]:
    """Process ids of all that runs and has these variables."""
    wanted = {variable.encode() for variable in variables}
    for folder in Path("/proc").glob("[0-9]*"):
        # Gone meanwhile, or another user's; the environment of a dead process is empty.
        with contextlib.suppress(OSError):
            if wanted <= set((folder / "environ").read_bytes().split(b"\0")):
                yield int(folder.name)


def _main(arguments: Sequence[str]) -> None:
    cut = arguments.index("--")
    pairs = (step.split(":") for step in arguments[cut + 1 :])
    sys.stdin.buffer.read()
    end_marked(arguments[:cut], [(int(number), float(seconds)) for number, seconds in pairs])


if __name__ == "__main__":
    _main(sys.argv[1:])
