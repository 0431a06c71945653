"""`pretexeval run` and `publish --score` with endpoints whose models think, each in another way."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.thinking_endpoint import UNFINISHED, WAYS, serve_thinkers
from tests.support.command import Outcome, Table, run_command, write_config
from tests.support.endpoint import Endpoint
from warehouse.query import run_query

pytestmark = pytest.mark.slow

KNOWLEDGE = {"relations": ["symptoms"]}
VENDOR = {"rename": {"max_tokens": "max_completion_tokens"}, "leave_out": ["temperature"]}
BRACKETS = {"reasoning_marks": ["[THINK]", "[/THINK]"]}


@dataclass
class Thinkers:
    """A data folder in which every model of the endpoint was evaluated."""

    folder: Path
    endpoint: Endpoint
    server: dict[str, str]
    out: str = ""
    """What the run printed."""

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def run(self, command: str, *names: str, **settings: Table) -> Outcome:
        """Run a command with these models; their settings are given by name, with _ for -."""
        models = [
            {"name": name, "engine": "openai", "model": name, "base_url": self.endpoint.base_url}
            | {"prompt_style": "chat", "pairs_per_relation": 4, "max_tokens": 64}
            | dict(settings.get(name.replace("-", "_"), {}))
            for name in names
        ]
        config = write_config(self.folder / "c.toml", self.root, knowledge=KNOWLEDGE, models=models)
        name, *options = command.split()
        return run_command(name, config, *options, folder=self.folder, environment=self.server)

    def query(self, sql: str) -> dict[str, tuple[object, ...]]:
        """Return model -> its other columns, of a query whose first column is the model."""
        return {str(row[0]): row[1:] for row in run_query(self.root, sql)[1]}


@pytest.fixture(scope="module")
def thinkers(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Thinkers]:
    with serve_thinkers() as endpoint:
        thinkers = Thinkers(tmp_path_factory.mktemp("thinkers"), endpoint, prefect_server)
        thinkers.out = thinkers.run("run", *WAYS, *UNFINISHED, "vendor", vendor=VENDOR).require().out
        yield thinkers


def test_equal_answers_have_equal_scores_however_the_model_thinks(thinkers: Thinkers) -> None:
    scores = thinkers.query("select model, average_accuracy, mastery, no_answer_rate from leaderboard")
    accuracy, _, no_answer_rate = scores["plain"]
    assert no_answer_rate == 0
    assert 0 < float(str(accuracy)) < 1
    others = [name for name in (*WAYS, "vendor") if name != "brackets"]
    assert {name: scores[name] for name in others} == dict.fromkeys(others, scores["plain"])


def test_unfinished_thoughts_are_counted_and_paid_for_once(thinkers: Thinkers) -> None:
    rates = thinkers.query("select model, no_answer_rate, unfinished_reasoning_rate from average_accuracy")
    (expected, _) = rates["cut-field"]
    assert 0.2 < float(str(expected)) < 0.8
    assert {name: rates[name] for name in UNFINISHED} == dict.fromkeys(UNFINISHED, (expected, expected))
    assert rates["field"] == (0, 0)
    asked = [body["model"] for _, _, body in thinkers.endpoint.requests]
    assert {name: asked.count(name) for name in UNFINISHED} == dict.fromkeys(UNFINISHED, 64)


def test_stored_answers_are_read_again_by_other_marks_without_asking(thinkers: Thinkers) -> None:
    n_requests = len(thinkers.endpoint.requests)
    sql = "select model, average_accuracy, mastery from leaderboard"
    before = thinkers.query(sql)
    assert before["brackets"] != before["plain"]
    thinkers.run("publish --score", "brackets", "plain", brackets=BRACKETS).require()
    after = thinkers.query(sql)
    assert after["brackets"] == after["plain"] == before["plain"]
    assert len(thinkers.endpoint.requests) == n_requests


def test_refused_parameters_are_reported_with_what_to_set(thinkers: Thinkers) -> None:
    # The endpoint refuses one parameter at a time.
    renamed = {"model": "vendor", "rename": VENDOR["rename"]}
    outcome = thinkers.run("evaluate", "vendor", "renamed", renamed=renamed).require(1)
    reasons = {
        name: next(line for line in outcome.err.splitlines() if line.startswith(f"pretexeval: {name}: "))
        for name in ("vendor", "renamed")
    }
    assert 'set rename = { max_tokens = "max_completion_tokens" }' in reasons["vendor"]
    assert 'set leave_out = ["temperature"]' in reasons["renamed"]
