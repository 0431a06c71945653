"""A real Prefect server for the tests of a session."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from commands.preflight.services import authorize
from tests.support.command import build_environment
from tests.support.processes import find_free_port, wait_until_served
from tests.support.session_process import start_for_session

Row = dict[str, Any]
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


class PrefectApi:
    """A client of the server that these variables name, for what Prefect's own client has no method for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.client = open_client(environment)
        if password := authorize(environment):
            self.client.headers["Authorization"] = password

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        answer = self.client.request(method, path, json=body).raise_for_status()
        return answer.json() if answer.content else None

    def get(self, path: str) -> Row:
        row: Row = self.ask("GET", path)
        return row

    def post(self, path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        return self.ask("POST", path, body)

    def list_all(self, kind: str) -> list[Row]:
        rows: list[Row] = self.post(f"/{kind}/filter")
        return rows

    def create_flow(self, name: str) -> str:
        """Return the id of the flow with this name."""
        return str(self.post("/flows/", name=name)["id"])

    def start_run(self, deployment_id: str, **body: object) -> Row:
        row: Row = self.post(f"/deployments/{deployment_id}/create_flow_run", **body)
        return row

    def set_state(self, run_id: str, state: Mapping[str, object], *, force: bool = False) -> None:
        self.post(f"/flow_runs/{run_id}/set_state", state=dict(state), force=force)
