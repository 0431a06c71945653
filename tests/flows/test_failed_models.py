"""`pretexeval run` with models that fail, each in its own way, beside one that does not."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.command import Outcome, make_rows, run_command, write_base, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_error, serve_endpoint
from tests.support.fault_models import answer_by_checksum

pytestmark = pytest.mark.long

NAMES = ("refused", "good", "unprocessable", "flaky", "fragile", "expired")
# The first ends before there are scores, the second after too many failed prompts.
FAILED = ("refused", "unprocessable", "fragile", "expired")
BROKEN = {"lost": "there is no folder", "truncated": "config.json cannot be read", "torn": "torn.parquet"}
RELATIONS = ("may_prevent", "may_treat")
# 9 test pairs of 14 heads in each relation.
N_SAMPLES = len(RELATIONS) * 9 * 16
WORDS = "Unsupported parameter: 'max_tokens'"


@dataclass
class Bench:
    """A folder with a base and a configuration, and an endpoint that serves all models."""

    folder: Path
    server: dict[str, str]
    is_repaired: bool = False
    n_requests: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    refused: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in NAMES})

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def reply(self, body: Body, _: int) -> EndpointReply:
        """Reply as the model does; flaky refuses one prompt in 288 for its content, and fragile 5 %."""
        name, prompt = body["model"], str(body["prompt"])
        self.n_requests[name] += 1
        number, refused = self.n_requests[name], self.refused[name]
        n_refused = {"flaky": 1, "fragile": round(0.05 * N_SAMPLES)}.get(name, 0)
        if number > 40 and len(refused) < n_refused:
            refused.add(prompt)
        if not self.is_repaired:
            if name in ("refused", "unprocessable"):
                return build_error(400 if name == "refused" else 422, WORDS)
            if name == "expired" and number > 100:
                return build_error(401, "the key has expired")
            if prompt in refused:
                return build_error(400, "content_filter")
        return answer_by_checksum(body, number)

    def run(self, endpoint: Endpoint) -> Outcome:
        models: list[dict[str, Any]] = [
            {"name": name, "engine": "openai", "model": name, "base_url": endpoint.base_url} for name in NAMES
        ]
        if not self.is_repaired:
            models = [*self.list_broken(), *models]
        knowledge = {"name": "own", "format": "table", "path": str(self.folder / "own.tsv")}
        config = write_config(self.folder / "c.toml", self.root, knowledge=knowledge, models=models)
        self.n_requests = dict.fromkeys(NAMES, 0)
        return run_command("run", config, folder=self.folder, environment=self.server)

    def list_broken(self) -> list[dict[str, Any]]:
        """Return models whose files are missing or damaged, before all others."""
        truncated = self.folder / "truncated"
        truncated.mkdir(exist_ok=True)
        (truncated / "config.json").write_text('{"architectures": [')
        (truncated / "model.safetensors").write_bytes(b"")
        torn = self.folder / "torn.parquet"
        torn.write_bytes(b"PAR1 and no more")
        return [
            {"name": "lost", "model": str(self.folder / "nowhere")},
            {"name": "truncated", "model": str(truncated)},
            {"name": "torn", "engine": "recorded", "model": str(torn)},
        ]

    def list_states(self) -> dict[str, str]:
        """Return flow run -> its state, of the evaluations, the latest of each model."""
        filters = {"flows": {"name": {"any_": ["evaluate-model"]}}, "sort": "START_TIME_ASC"}
        url = f"{self.server['PREFECT_API_URL']}/flow_runs/filter"
        runs: list[dict[str, Any]] = httpx.post(url, json=filters, timeout=30).raise_for_status().json()
        return {run["parameters"]["model_name"]: run["state_type"] for run in runs}


@dataclass(frozen=True)
class Results:
    """A run with failing models, and a run after the endpoint was repaired."""

    outcome: Outcome
    n_requests: dict[str, int]
    states: dict[str, str]
    leaderboard: list[dict[str, Any]]
    not_evaluated: dict[str, str]
    repaired: Outcome
    n_requests_repaired: dict[str, int]
    n_answered: int
    """The answers that the model whose key expired had given before."""
    leaderboard_repaired: list[dict[str, Any]]
    still_not_evaluated: set[str]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Results]:
    bench = Bench(tmp_path_factory.mktemp("failed"), prefect_server)
    write_base(bench.folder / "own.tsv", make_rows(*RELATIONS))
    with serve_endpoint(bench.reply) as endpoint:
        outcome, n_requests = bench.run(endpoint), bench.n_requests
        states = bench.list_states()
        leaderboard = query_rows(bench.root, "from leaderboard")
        failed = {row["model"]: row["reason"] for row in query_rows(bench.root, "from not_evaluated")}
        stored = "from responses where model_id like 'expired-%' and status = 'ok'"
        n_answered = len(query_rows(bench.root, stored))
        bench.is_repaired = True
        repaired = bench.run(endpoint)
        yield Results(
            outcome,
            n_requests,
            states,
            leaderboard,
            failed,
            repaired,
            bench.n_requests,
            n_answered,
            query_rows(bench.root, "from leaderboard"),
            {row["model"] for row in query_rows(bench.root, "from not_evaluated")},
        )


def test_failing_models_end_the_run_with_an_error_and_the_others_are_published(results: Results) -> None:
    said = results.outcome.require(1).err
    assert all(f"pretexeval: {name}: {reason}" in said for name, reason in results.not_evaluated.items())
    assert {row["model"] for row in results.leaderboard} == {"good", "flaky"}
    assert set(results.not_evaluated) == {*FAILED, *BROKEN}
    for name, words in BROKEN.items():
        assert words in results.not_evaluated[name]
    # Other tests of this process use the same server.
    assert {name: results.states[name] for name in NAMES} == {
        name: "FAILED" if name in FAILED else "COMPLETED" for name in NAMES
    }
    for name in ("refused", "unprocessable"):
        assert results.n_requests[name] <= 33
        assert WORDS in results.not_evaluated[name]
    assert "more than max_error_rate" in results.not_evaluated["fragile"]
    assert "content_filter" in results.not_evaluated["fragile"]
    assert "the key has expired" in results.not_evaluated["expired"]


def test_repaired_endpoint_is_asked_only_what_failed(results: Results) -> None:
    results.repaired.require()
    # These are not in the configuration any more.
    assert results.still_not_evaluated == set(BROKEN)
    assert {row["model"] for row in results.leaderboard_repaired} == set(NAMES)
    assert {row["n_samples"] for row in results.leaderboard_repaired} == {N_SAMPLES}
    assert results.n_requests_repaired == {
        "refused": N_SAMPLES,
        "good": 0,
        "unprocessable": N_SAMPLES,
        "flaky": 1,
        "fragile": round(0.05 * N_SAMPLES),
        "expired": N_SAMPLES - results.n_answered,
    }
    assert not any(f"not evaluated: {name}" in results.repaired.out for name in NAMES)
