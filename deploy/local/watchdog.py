"""Ends the processes that another process has started, as soon as that process is gone, however it ended.

Prefect stops its own server when Python exits normally; after `kill -9` or SIGTERM the server would run for
ever. No process can catch `kill -9`, so the watchdog is a process of its own. Its standard input is a pipe
from the process that it watches. The system closes this pipe when that process is gone, and the watchdog then
ends every process that has the watched process's mark. The mark is an environment variable, which children
inherit.
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

# Signals to send one after another, and for each the seconds that processes have to end.
Steps = Sequence[tuple[int, float]]

# The mark of everything that a run of the command has started. Only its ephemeral servers are ended.
SERVER_MARK = "PRETEXEVAL_SERVER_OWNER"
# Prefect sets this variable for servers that it starts for one process only.
EPHEMERAL = "PREFECT__SERVER_EPHEMERAL=1"
SERVER_STEPS: Steps = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))

# The mark of all processes of an installation. Its flow runs inherit the mark, so they get the signal
# together with their worker, which would otherwise wait for them.
INSTALLATION_MARK = "PRETEXEVAL_PROCESSES_OWNER"
# SIGINT is PostgreSQL's fast shutdown, which does not wait for clients.
INSTALLATION_STEPS: Steps = ((signal.SIGTERM, 8.0), (signal.SIGINT, 3.0), (signal.SIGKILL, 3.0))

_server_watchdogs: list["subprocess.Popen[bytes]"] = []


def start_watchdog() -> None:
    """Start the watchdog of this process's ephemeral servers, once; do nothing where there is no /proc."""
    if _server_watchdogs or not Path("/proc/self/environ").exists():
        return
    mark = os.environ[SERVER_MARK] = secrets.token_hex(8)
    _server_watchdogs.append(_start([f"{SERVER_MARK}={mark}", EPHEMERAL], SERVER_STEPS))


def start_installation_watchdog(mark: str) -> "subprocess.Popen[bytes]":
    """Start the watchdog of the installation with this mark, and return its process.

    The watchdog acts when its standard input is closed, and then ends.
    """
    return _start([f"{INSTALLATION_MARK}={mark}"], INSTALLATION_STEPS)


def _start(variables: Sequence[str], steps: Steps) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        # With -I and -S Python starts within 20 ms.
        [sys.executable, "-I", "-S", __file__, *variables, "--", *(f"{n:d}:{s:g}" for n, s in steps)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A copy, because another thread may change the environment while Popen reads it.
        env=dict(os.environ),
        cwd="/",
        # In a session of its own, so that Ctrl-C in the terminal does not end the watchdog before this
        # process.
        start_new_session=True,
    )


def end_marked(variables: Sequence[str], steps: Steps) -> None:
    """Send the first signal to all marked processes, and each further signal to those still running.

    Args:
        variables: the mark, as NAME=VALUE; a process is marked if its environment contains all of them.
    """
    for number, patience_s in steps:
        for pid in find_marked(variables):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while any(find_marked(variables)) and time.monotonic() < deadline:
            time.sleep(0.1)


def find_marked(variables: Sequence[str]) -> Iterator[int]:
    """Yield the ids of all running processes with these variables (NAME=VALUE) in their environment."""
    wanted = {variable.encode() for variable in variables}
    for folder in Path("/proc").glob("[0-9]*"):
        # OSError: the process has ended, or belongs to another user. A zombie's environment is empty.
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
