"""A real Prefect server for the tests of a session."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import httpx

from tests.support.command import build_environment
from tests.support.processes import find_free_port, wait_until_served
from tests.support.session_process import start_for_session

# Prefect marks a server in this way that it starts for one process. Such a server runs none of the services
# that look for scheduled, late, or lost runs all the time and take half of its processor time.
MARKS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
# With SQLite, a change of an automation may block the server for ever while this service runs:
# https://github.com/PrefectHQ/prefect/issues/23055.
NO_TRIGGERS = {"PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false"}


def start_prefect(home: Path) -> dict[str, str]:
    """Start a server on a free port, which ends with the session; return the variables that name it."""
    port = find_free_port()
    environment = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    command = [sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
    log = home / "log"
    process = start_for_session(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"],
        build_environment(environment | MARKS | NO_TRIGGERS),
        log,
    )
    address = f"http://127.0.0.1:{port}/api"
    wait_until_served(process, f"{address}/health", log)
    return environment | {"PREFECT_API_URL": address, "PREFECT_LOGGING_LEVEL": "CRITICAL"}


class _PatientTransport(httpx.HTTPTransport):
    """Sends a request again while the server's database is locked, as Prefect's own client does.

    The server then answers 503 or closes the connection.
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                response = super().handle_request(request)
                if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    return response
                response.close()
            time.sleep(0.5)
        return super().handle_request(request)


def open_client(environment: Mapping[str, str]) -> httpx.Client:
    """Return a client of the server that these variables name."""
    address = environment["PREFECT_API_URL"]
    return httpx.Client(base_url=address, timeout=120, trust_env=False, transport=_PatientTransport())
