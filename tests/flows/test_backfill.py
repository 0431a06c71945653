"""Editions of past weeks on a real server: `backfill`, `withdraw`, and `regenerate` for an old week."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pretexeval.config.file import load_config
from pretexeval.storage.layout import evaluation_lock
from tests.support.command import Outcome, make_rows, run_command, write_base, write_config
from tests.support.endpoint import Endpoint, serve_endpoint
from tests.support.evaluations import evaluate
from tests.support.fault_models import answer_by_checksum
from warehouse.query import read_rows

pytestmark = pytest.mark.long

RELATION = "may_treat"
# 9 test pairs of 14 heads.
N_PROMPTS = 9 * 16
WEEKS = ("2025-W52", "2026-W01")
ALL = [(week, model) for week in WEEKS for model in ("first", "second")]
REASON = "the base listed <b>wrong</b> drugs"


@dataclass
class Bench:
    """A folder with a base and a weekly configuration, and an endpoint that serves its models."""

    folder: Path
    server: dict[str, str]
    endpoint: Endpoint
    models: list[str] = field(default_factory=lambda: ["first"])

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def call(self, command: str, *words: str) -> Outcome:
        return run_command(command, *words, folder=self.folder, environment=self.server)

    def backfill(self, first: str, last: str, *more: str, n_heads: int = 14) -> Outcome:
        """Write the configuration with the present models and a base of so many heads, and run it."""
        table = {"engine": "openai", "base_url": self.endpoint.base_url}
        config = write_config(
            self.folder / "mine.toml",
            self.root,
            knowledge=write_base(self.folder / "own.tsv", make_rows(RELATION, n_heads=n_heads)),
            models=[{"name": name, "model": name, **table} for name in self.models],
            anchors={"n_pairs": 2},
        )
        self.endpoint.requests.clear()
        return self.call("backfill", str(config), "--from", first, "--to", last, *more)

    def count_asked(self) -> Counter[str]:
        """Return model -> the number of its prompts in the last call."""
        return Counter(body["model"] for _, _, body in self.endpoint.requests)

    def query(self, sql: str) -> list[dict[str, Any]]:
        return read_rows(self.root, sql)

    def list_scored(self) -> list[tuple[str, str]]:
        """Return week and model of the leaderboard."""
        rows = self.query("from leaderboard join editions using (edition_id) order by label, model")
        return [(row["label"], row["model"]) for row in rows]


@pytest.fixture
def bench(tmp_path: Path, prefect_server: dict[str, str]) -> Iterator[Bench]:
    with serve_endpoint(answer_by_checksum) as endpoint:
        yield Bench(tmp_path, prefect_server, endpoint)


def test_past_weeks_are_made_completed_withdrawn_and_made_again(bench: Bench) -> None:
    done = bench.backfill(*WEEKS).require()
    assert done.out.splitlines() == [f"{bench.root}/warehouse.duckdb", f"{bench.root}/report/index.html"]
    # Anchors are not asked.
    assert bench.count_asked() == {"first": 2 * N_PROMPTS}
    assert len(bench.query("select distinct edition_id from freshness")) == 2
    editions = bench.query("select edition_id, label from editions order by label")
    # A model is added after the base has grown: the editions stay, and it alone is asked.
    bench.models.append("second")
    bench.backfill(*WEEKS, "--model", "second", n_heads=15).require()
    assert bench.count_asked() == {"second": 2 * N_PROMPTS}
    assert bench.query("select edition_id, label from editions order by label") == editions
    assert bench.list_scored() == ALL
    _withdraw_first_week(bench, editions[0]["edition_id"])
    # The same base would make the withdrawn edition again; a corrected one makes another.
    refused = bench.backfill(WEEKS[0], WEEKS[0]).require(1)
    assert f"{WEEKS[0]}: {editions[0]['edition_id']} was withdrawn on 20" in refused.err
    assert bench.count_asked() == {}
    bench.backfill(*WEEKS, n_heads=15).require()
    assert bench.count_asked().keys() == {"first", "second"}
    assert max(bench.count_asked().values()) <= 10 * 16
    assert bench.list_scored() == ALL
    assert [row["label"] for row in bench.query("from editions order by label")] == [WEEKS[0], *WEEKS]


def _withdraw_first_week(bench: Bench, edition_id: str) -> None:
    assert edition_id in str(bench.query("from edition_drift"))
    *_, withdrawn, published = bench.call("withdraw", WEEKS[0], "--reason", REASON).require().err.splitlines()
    assert withdrawn.startswith(f"{edition_id} is withdrawn: its texts stay, its scores left the warehouse")
    holds = "The warehouse holds 2 editions (1 withdrawn) and 2 evaluations of 2 models"
    assert published == f"{holds}; its pages begin at data/report/index.html."
    assert {week for week, _ in bench.list_scored()} == {WEEKS[1]}
    assert bench.query("from edition_drift") == []
    (row,) = bench.query("from editions where withdrawn_at is not null")
    assert (row["edition_id"], row["withdrawal_reason"]) == (edition_id, REASON)
    page = (bench.root / "report" / edition_id / "index.html").read_text()
    assert f"</b> {escape(REASON)}." in page.partition("This edition was withdrawn on")[2]
    assert "No model has answered" not in page
    assert escape(REASON) in (bench.root / "report" / "index.html").read_text()
    unknown = bench.call("withdraw", "2025-W40", "--reason", REASON).require(2)
    assert "the warehouse has no edition '2025-W40'" in unknown.err
    other = bench.query(f"from editions where label = '{WEEKS[1]}'")[0]["edition_id"]
    with FileLock(bench.root / evaluation_lock(other, "first-1")):
        busy = bench.call("withdraw", other, "--reason", REASON).require(2)
    assert f"a model is being evaluated on {other}" in busy.err
    # Nothing adds an evaluation to it, however it is started.
    config = load_config(bench.folder / "mine.toml")
    assert f"{edition_id} was withdrawn" in str(evaluate(config, edition_id, "first"))
