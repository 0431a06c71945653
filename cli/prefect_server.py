"""Prefect's server for the time of one command: a process of its own, on a free port of loopback.

Prefect would start it itself when the first flow begins, and wait. Started here it comes up while this
process imports what it needs (5 s of one core each), and this process need not import the server (2 s).
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from primitives.errors import InputError
from primitives.http_client import fetch_local

PATIENCE_VARIABLE = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
STOP_S = 5.0
MAX_STARTS = 3
# As Prefect marks the servers that it starts for one process; the watchdog knows them by it.
MARKS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}

_starting: dict[str, "subprocess.Popen[bytes]"] = {}


def start_server() -> None:
    """Start it, and name it in PREFECT_API_URL; call `wait_for_server` before the first flow."""
    port = _find_free_port()
    address = os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    _starting[address] = _launch(port)


def _launch(port: int) -> "subprocess.Popen[bytes]":
    # Inherited by the server: Ctrl-C in a terminal goes to every process of the group, and a run that
    # is interrupted still has to say so to its server.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        server = subprocess.Popen(_write_command(port), env=os.environ | MARKS)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    # Registered before Prefect is imported, so it runs after Prefect's own last words.
    atexit.register(_stop, server)
    return server


def wait_for_server() -> None:
    """Return as soon as the server answers; at once if it did before, or is not ours.

    One that ends before it ever answered is started again: on a busy machine its set-up fails now and then.

    Raises:
        InputError: if it ends, or does not answer in the time that the environment gives it.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    server = _starting.get(address)
    if server is None:
        return
    patience_s = float(os.environ.get(PATIENCE_VARIABLE, "120"))
    deadline, n_starts = time.monotonic() + patience_s, 1
    while not _answers(address):
        status = server.poll()
        if status is not None and n_starts < MAX_STARTS:
            n_starts += 1
            server = _launch(urlsplit(address).port or 0)
            continue
        if status is not None or time.monotonic() > deadline:
            reason = f"no answer in {patience_s:g} s" if status is None else f"it ended with {status}"
            raise InputError(
                f"Prefect's server did not start ({reason}); run again when the machine is less busy, or "
                "start one (`prefect server start`) and name it in PREFECT_API_URL"
            )
        time.sleep(0.05)
    del _starting[address]


def _find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _write_command(port: int) -> list[str]:
    spec = find_spec("prefect")
    assert spec is not None
    assert spec.origin is not None
    packages = str(Path(spec.origin).parent.parent)
    factory = "prefect.server.api.server:create_app"
    listen = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error", "--lifespan", "on"]
    return [sys.executable, "-m", "uvicorn", "--app-dir", packages, "--factory", factory, *listen]


def _answers(address: str) -> bool:
    return fetch_local(f"{address}/health").status == 200


def _stop(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
