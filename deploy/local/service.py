"""One process of the installation: started, watched, ended, with a log of its own."""

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
"""How long any of them may take; on two busy cores Prefect's server took 40 s for an empty database."""
Process = subprocess.Popen[bytes]


@dataclass
class Service:
    """A process that can be started again: same command, same place, same log."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    """What it says goes to the end of this file."""
    is_ready: Callable[[], bool]
    """Whether it does already what it is for."""
    folder: Path = Path("/")
    """Where it runs."""
    user: str | None = None
    """Whom it runs as, where that is not whoever starts it."""
    process: Process = field(init=False)
    started_at: float = field(default=0.0, init=False)
    """Seconds since the epoch."""
    is_asked: bool = field(default=False, init=False)
    """To end, since it was started. Once only: Prefect's worker kills itself at a second SIGTERM."""

    def start(self) -> None:
        """Start it in a session of its own (Ctrl-C in the terminal is for us), without waiting."""
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
        """Return when it is ready.

        Raises:
            InputError: if it ends instead, or takes longer than START_S.
        """
        deadline = time.monotonic() + START_S
        while not self.is_ready():
            status = self.process.poll()
            if status is not None or time.monotonic() > deadline:
                what = f"was not ready after {START_S:g} s" if status is None else f"ended with {status}"
                raise InputError(f"{self.name} {what}; {self.log} ends with:\n{self.read_end_of_log()}")
            time.sleep(0.1)

    def ask_to_end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send the signal to this process alone; nothing if it has ended, or was asked before."""
        if not self.is_asked and self.process.poll() is None:
            self.is_asked = True
            self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM, patience_s: float = 10) -> None:
        """Send the signal, wait, and kill whatever of its session is left then."""
        self.ask_to_end(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        self.kill()

    def kill(self, *, spares_children: bool = False) -> None:
        """`kill -9`, of what it started as well; of that even when it has ended itself."""
        with contextlib.suppress(ProcessLookupError):
            if not spares_children:
                os.killpg(self.process.pid, signal.SIGKILL)
            elif self.process.poll() is None:
                self.process.kill()
        self.process.wait()

    def read_end_of_log(self) -> str:
        """The last twenty lines it said."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-20:])


def become(user: str | None) -> dict[str, Any]:
    """Options of Popen that make the child that user, without any of root's groups."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
