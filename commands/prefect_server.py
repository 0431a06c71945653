"""Prefect's server while one command runs: a separate process on a free port of loopback.

Prefect would start such a server itself when the first flow begins, but that server outlives a command that
is killed and dies before a command that Ctrl-C interrupts. This one starts while the command imports Prefect
(each takes 5 s of one core), has a session of its own, and is killed by the system when the command ends.
"""

import atexit
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from commands.deploy.local import KEEP_RUNS, PASSWORD_VARIABLE, SERVER_PASSWORD_VARIABLE, create_password
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import fetch

TIMEOUT_VARIABLE = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
MAX_STARTS = 3
STOP_S = 5.0
# The server of one command serves no UI, and looks for nothing that only deployments need. Prefect's mark of
# such a server (PREFECT__SERVER_EPHEMERAL) would also switch off the service that removes old runs.
UNUSED_SERVICES = (
    "CANCELLATION_CLEANUP",
    "CLEANUP_RECONCILER",
    "FOREMAN",
    "LATE_RUNS",
    "PAUSE_EXPIRATIONS",
    "REPOSSESSOR",
    "SCHEDULER",
)
SETTINGS = {
    "PREFECT_UI_ENABLED": "0",
    "PREFECT__SERVER_FINAL": "1",
    **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in UNUSED_SERVICES},
    **KEEP_RUNS,
}
SERVER = ["-m", "uvicorn", "--factory", "prefect.server.api.server:create_app", "--log-level", "error"]
HISTORY = "prefect.db"
LOG = "server.log"
_own: dict[str, "_OwnServer"] = {}
"""Address -> the server that this process started there."""
_answered: set[str] = set()
"""Addresses of servers that have answered."""


@dataclass
class _OwnServer:
    """A server that this process started."""

    command: list[str]
    home: Path
    process: "subprocess.Popen[bytes]"


def start_server(home: Path) -> None:
    """Start the server and put its address into PREFECT_API_URL; call `wait_for_server` before a flow.

    The server has a password of its own, because pages in a browser and other users of this machine can reach
    a port of loopback too.

    Args:
        home: the folder of the server's history and log.

    Raises:
        InputError: the history is damaged.
    """
    home.mkdir(parents=True, exist_ok=True)
    _require_intact_history(home / HISTORY)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ[PASSWORD_VARIABLE] = os.environ[SERVER_PASSWORD_VARIABLE] = create_password()
    address = os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    # With -P, no module of a user's folder takes the place of one of Prefect's.
    command = [sys.executable, "-P", *SERVER, "--app-dir", str(home), "--port", str(port)]
    _own[address] = _OwnServer(command, home, _launch(command, home))


def is_own_server() -> bool:
    """Return whether the server was started here, so that no other process uses it."""
    return os.environ.get("PREFECT_API_URL") in _own


def require_named_server() -> None:
    """Check the server that the environment names, unless it was started or checked here before.

    Raises:
        InputError: it does not answer, refuses access, or is not a Prefect server.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    if address and address not in _answered and not is_own_server():
        # It imports polars, which other commands do without.
        from commands.preflight.services import require_server

        require_server()
        _answered.add(address)


def wait_for_server() -> None:
    """Return as soon as the server answers; at once if it has answered before or was not started here.

    A server that ends before its first answer is started again: of two that create the tables of one new
    history at the same time, one fails.

    Raises:
        InputError: it ends too often, or does not answer within the timeout that the environment sets.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    server = _own.get(address)
    if server is None or address in _answered:
        return
    timeout_s = float(os.environ.get(TIMEOUT_VARIABLE, "120"))
    deadline, n_starts = time.monotonic() + timeout_s, 1
    while fetch(f"{address}/health", is_local=True).status != 200:
        status = server.process.poll()
        if status is not None and n_starts < MAX_STARTS:
            n_starts += 1
            server.process = _launch(server.command, server.home)
            continue
        if status is not None or time.monotonic() > deadline:
            reason = f"ended with status {status}" if status is not None else f"no answer in {timeout_s:g} s"
            raise InputError(
                f"Prefect's server did not start ({reason}, see {server.home / LOG}); run again when the "
                f"machine is less busy, delete {server.home / HISTORY} if the log says that the database "
                "cannot be used (it holds only the list of past runs), or start a server (`prefect server "
                "start`) and set PREFECT_API_URL to its address"
            )
        time.sleep(0.05)
    _answered.add(address)


def _launch(command: list[str], home: Path) -> "subprocess.Popen[bytes]":
    setpriv = shutil.which("setpriv")
    # Linux kills the server when this process ends.
    prefix = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
    with (home / LOG).open("ab") as log:
        server = subprocess.Popen(
            [*prefix, *command],
            env=os.environ | SETTINGS,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C in a terminal signals every process of the session's group, and an interrupted run still
            # has to report its state to the server.
            start_new_session=True,
        )
    # Handlers run in reverse order: this one is registered before Prefect's own, which still need the server.
    atexit.register(_stop, server)
    return server


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Ask the server to end, and kill it if it takes longer than STOP_S."""
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _require_intact_history(path: Path) -> None:
    """Check the database: on a damaged page, the server starts and then answers requests with errors."""
    if not path.is_file():
        return
    try:
        with closing(sqlite3.connect(path)) as connection:
            found = str(connection.execute("pragma quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError:
        # Another process has locked it.
        return
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise InputError(
            f"{path} is damaged ({found.splitlines()[0]}): delete it and run again; it holds only the list "
            "of past runs, and no result"
        )
