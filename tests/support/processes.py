"""Running a process until its end, or until it serves; the report of a failure has its stacks or its log."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import SystemRandom

import pytest

# Of the output of a process that did not end; its stacks are the last lines.
SHOWN_CHARACTERS = 20_000
DUMP_S = 10.0


END_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")
"""The beginning of the command of a server that is killed when the process of the tests ends in any way."""


def run_process(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output; if it does not end in time, fail with the stacks of its threads.

    A Python process writes the stacks itself when it is aborted.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "PYTHONFAULTHANDLER": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            output = _abort(process)[-SHOWN_CHARACTERS:]
            pytest.fail(f"{' '.join(command)} did not end in {timeout_s:g} s\n{output}", pytrace=False)
        finally:
            process.kill()
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def _abort(process: subprocess.Popen[str]) -> str:
    """Abort a process and return what it wrote; a process that it started may keep the pipes open."""
    process.send_signal(signal.SIGABRT)
    try:
        return "".join(process.communicate(timeout=DUMP_S))
    except subprocess.TimeoutExpired as error:
        return os.fsdecode(error.output or b"") + os.fsdecode(error.stderr or b"")


def find_free_port() -> int:
    """Return a free port of loopback, for a server that binds it seconds later.

    Linux gives ports from 32768 on to whoever asks for any port. A port below is not given to another process
    until the server has bound it.
    """
    while True:
        port = SystemRandom().randrange(15_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


def wait_until_served(
    process: subprocess.Popen[bytes], url: str, log: Path | None = None, timeout_s: float = 240
) -> None:
    """Wait until the process answers at the address; end it and fail with its log if it does not."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    process.terminate()
    said = log.read_text(errors="replace")[-2000:] if log else ""
    pytest.fail(f"nothing answers at {url}:\n{said}")
