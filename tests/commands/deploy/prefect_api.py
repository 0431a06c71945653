"""A client of a Prefect server, for what its own client has no method for."""

from collections.abc import Mapping
from typing import Any

from commands.preflight.services import authorize
from tests.support.prefect_server import open_client

Row = dict[str, Any]
KINDS = ("work_pools", "deployments", "automations")


class PrefectApi:
    """The server that these variables name."""

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
