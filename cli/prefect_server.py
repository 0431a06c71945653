"""Prefect's server while one command runs: a separate process on a free port of loopback.

Prefect would start the server itself when the first flow begins, and wait for it. When it is started here,
it comes up while this process imports Prefect (each takes 5 s of one core), and this process does not need
to import the server (2 s).
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

from cli.empty_history import keep_empty_history
from deploy.local.client_settings import PASSWORD_VARIABLE, SERVER_PASSWORD_VARIABLE, create_password
from deploy.local.services import SERVER_FILE
from primitives.errors import InputError
from primitives.http_client import fetch_local

TIMEOUT_VARIABLE = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
STOP_S = 5.0
MAX_STARTS = 3
# Prefect marks the servers that it starts for one process in this way; the watchdog recognizes them by it.
MARKS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}

_starting: dict[str, "subprocess.Popen[bytes]"] = {}
_own: set[str] = set()
"""Addresses of servers that were started here."""
_answered: set[str] = set()
"""Addresses of other servers that have answered."""


def start_server() -> None:
    """Start the server and put its address into PREFECT_API_URL; call `wait_for_server` before a flow.

    The server has a password of its own, because pages in a browser and other users of this machine can reach
    a port of loopback too.
    """
    port = _find_free_port()
    os.environ[PASSWORD_VARIABLE] = os.environ[SERVER_PASSWORD_VARIABLE] = create_password()
    address = os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    _starting[address] = _launch(port)
    _own.add(address)


def is_own_server() -> bool:
    """Return whether the server was started here, so that no other process uses it."""
    return os.environ.get("PREFECT_API_URL", "") in _own


def require_named_server() -> None:
    """Check the server that the environment names, unless it was started or checked here before.

    Raises:
        InputError: it does not answer, refuses access, or is not a Prefect server.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    if address and address not in _own | _answered:
        from preflight.services import require_server

        require_server()
        _answered.add(address)


def _launch(port: int) -> "subprocess.Popen[bytes]":
    # The server inherits the mask: Ctrl-C in a terminal signals every process of the group, and an
    # interrupted run still has to report its state to the server.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        server = subprocess.Popen(_build_command(port), env=os.environ | MARKS)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    # Handlers run in reverse order: this one is registered before Prefect's own, which still need the server.
    atexit.register(_stop, server)
    return server


def wait_for_server() -> None:
    """Return as soon as the server answers; at once if it has answered before or was not started here.

    A server that ends before its first answer is restarted, because its set-up sometimes fails on a busy
    machine.

    Raises:
        InputError: if it ends too often, or does not answer within the timeout that the environment sets.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    server = _starting.get(address)
    if server is None:
        return
    timeout_s = float(os.environ.get(TIMEOUT_VARIABLE, "120"))
    deadline, n_starts = time.monotonic() + timeout_s, 1
    while not _answers(address):
        status = server.poll()
        if status is not None and n_starts < MAX_STARTS:
            n_starts += 1
            server = _launch(urlsplit(address).port or 0)
            continue
        if status is not None or time.monotonic() > deadline:
            reason = f"ended with status {status}" if status is not None else f"no answer in {timeout_s:g} s"
            raise InputError(
                f"Prefect's server did not start ({reason}); run again when the machine is less busy, or "
                "start a server (`prefect server start`) and set PREFECT_API_URL to its address"
            )
        time.sleep(0.05)
    del _starting[address]
    keep_empty_history()


def _find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _build_command(port: int) -> list[str]:
    return [sys.executable, "-P", str(SERVER_FILE), "--port", str(port), "--log-level", "error"]


def _answers(address: str) -> bool:
    return fetch_local(f"{address}/health").status == 200


def _stop(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
