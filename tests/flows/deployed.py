"""An installation that runs deployed flows, as a client of its Prefect server sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fault_models import wait_until
from tests.support.installation import Installation
from tests.support.prefect_server import PrefectApi, Row

MOMENT = "2026-11-16T03:00:00+00:00"
ENDS = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@dataclass
class Deployed:
    """An installation with its data root; the configurations are beside the root."""

    root: Path
    installation: Installation

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Return the response of Prefect's server."""
        return PrefectApi(self.installation.environment).ask(method, path, body)

    def list_runs(self, *flows: str) -> list[Row]:
        """Return the runs of these flows, in the order of their start."""
        body = {"flows": {"name": {"any_": flows}}, "sort": "START_TIME_ASC"}
        runs: list[Row] = self.ask("POST", "flow_runs/filter", body)
        return runs

    def list_evaluations(self, model: str) -> list[Row]:
        return [run for run in self.list_runs("evaluate-model") if run["parameters"]["model_name"] == model]

    def start(self, flow: str, deployment: str = "cpu", **parameters: object) -> str:
        """Start a run of a deployment of the flow, and return its id.

        Args:
            deployment: the work pool; for `regenerate`, the name of a configuration.
        """
        deployment_id = self.ask("GET", f"deployments/name/{flow}/{deployment}")["id"]
        made = self.ask("POST", f"deployments/{deployment_id}/create_flow_run", {"parameters": parameters})
        return str(made["id"])

    def regenerate(self, config: Path) -> str:
        """Start a run for the week of MOMENT, and return its id."""
        return self.start("regenerate", config.stem, config_file=str(config), moment=MOMENT)

    def wait_for_runs(self, what: str, run_ids: Sequence[str], states: Sequence[str] = ENDS) -> list[Row]:
        """Wait until all runs are in one of the states, and return them."""

        def read_runs() -> list[Row]:
            return [self.ask("GET", f"flow_runs/{each}") for each in run_ids]

        def have_ended() -> bool:
            return all(run["state_type"] in states for run in read_runs())

        wait_until(have_ended, what)
        return read_runs()

    def run(self, flow: str, **given: Any) -> Row:  # noqa: ANN401 - of any flow
        """Start a run as `start` does, and return it when it has ended."""
        (done,) = self.wait_for_runs(f"{flow} has ended", [self.start(flow, **given)])
        return done
