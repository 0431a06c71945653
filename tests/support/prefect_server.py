"""A real Prefect server for the tests of a session.

Like the server that a command starts for itself, it runs none of the services that look for scheduled, late,
or lost runs all the time: they took half of its processor time.
"""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.prefect_server import MARKS
from tests.support.command import build_environment


@contextlib.contextmanager
def serve_prefect(home: Path) -> Iterator[dict[str, str]]:
    """Run a server on a free port during the block, and yield the environment variables that name it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
    environment = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"],
            env=build_environment(environment | MARKS),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/api", home / "log")
        yield environment | {
            "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
            "PREFECT_LOGGING_LEVEL": "CRITICAL",
        }
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"Prefect's server did not come up:\n{log.read_text()[-2000:]}")
