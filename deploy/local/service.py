"""One process of an installation: how it starts, becomes ready, and ends; it has its own log."""

import contextlib
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from primitives.errors import InputError

START_S = 180.0
"""Timeout for becoming ready. On two busy cores Prefect's server took 40 s with an empty database."""
Process = subprocess.Popen[bytes]


@dataclass
class Service:
    """A process that can be restarted with the same command, folder and log."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    """Its output is appended to this file."""
    is_ready: Callable[[], bool]
    """Return whether the service is ready for use."""
    folder: Path = Path("/")
    """Its working directory."""
    user: str | None = None
    """The user that it runs as; None for the user that starts it."""
    process: Process = field(init=False)
    started_at: float = field(default=0.0, init=False)
    """Seconds since the epoch."""
    is_asked: bool = field(default=False, init=False)
    """Whether this process was asked to end. It is asked only once: Prefect's worker kills itself at a second
    SIGTERM."""

    def start(self) -> None:
        """Start the process without waiting, in its own session, so that Ctrl-C does not reach it."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.started_at = time.time()
        self.is_asked = False
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=dict(self.environment),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **become(self.user),
            )

    def wait(self) -> None:
        """Wait until the service is ready.

        Raises:
            InputError: if the process ends first, or takes longer than START_S.
        """
        deadline = time.monotonic() + START_S
        while not self.is_ready():
            status = self.process.poll()
            if status is not None or time.monotonic() > deadline:
                what = f"was not ready after {START_S:g} s" if status is None else f"ended with {status}"
                raise InputError(f"{self.name} {what}; {self.log} ends with:\n{self.read_end_of_log()}")
            time.sleep(0.1)

    def ask_to_end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send the signal to this process only, unless it has ended or was asked before."""
        if not self.is_asked and self.process.poll() is None:
            self.is_asked = True
            self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM, patience_s: float = 10) -> None:
        """Send the signal, wait, and kill the processes of its session that are still running."""
        self.ask_to_end(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        self.kill()

    def kill(self) -> None:
        """Send SIGKILL to the process and its children, to the children even if the process has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def read_end_of_log(self) -> str:
        """Return the last twenty lines of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-20:])


def become(user: str | None) -> dict[str, Any]:
    """Return the options of Popen that run the child as this user, without root's groups."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
