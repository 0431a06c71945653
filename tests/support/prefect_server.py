"""A real Prefect server for the tests of a session."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.command import build_environment
from tests.support.session_process import start_for_session

# Prefect marks a server in this way that it starts for one process. Such a server runs none of the services
# that look for scheduled, late, or lost runs all the time and take half of its processor time.
MARKS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}


def start_prefect(home: Path) -> dict[str, str]:
    """Start a server on a free port, which ends with the session; return the variables that name it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    environment = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    command = [sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
    log = home / "log"
    process = start_for_session(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"],
        build_environment(environment | MARKS),
        log,
    )
    address = f"http://127.0.0.1:{port}/api"
    _wait(process, address, log)
    return environment | {"PREFECT_API_URL": address, "PREFECT_LOGGING_LEVEL": "CRITICAL"}


def _wait(process: subprocess.Popen[bytes], url: str, log: Path, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    process.terminate()
    pytest.fail(f"Prefect's server did not come up:\n{log.read_text()[-2000:]}")
