"""Editions of past weeks on a real server: `backfill`, `withdraw`, and `regenerate` for an old week."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pretexeval.config.file import load_config
from pretexeval.storage.layout import evaluation_lock
from tests.support.command import (
    Outcome,
    build_environment,
    make_rows,
    run_command,
    run_measured,
    write_base,
    write_config,
)
from tests.support.data_folder import query_rows
from tests.support.endpoint import Endpoint, serve_endpoint
from tests.support.evaluations import evaluate
from tests.support.fault_models import answer_by_checksum
from tests.support.prefect_server import open_client

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
        base = write_base(self.folder / "own.tsv", make_rows(RELATION, n_heads=n_heads))
        table = {"engine": "openai", "base_url": self.endpoint.base_url}
        config = write_config(
            self.folder / "mine.toml",
            self.root,
            knowledge={"name": "own", "format": "table", "path": str(base)},
            models=[{"name": name, "model": name, **table} for name in self.models],
            anchors={"n_pairs": 2},
            report={"min_new_texts": 0.01},
        )
        self.endpoint.requests.clear()
        return self.call("backfill", str(config), "--from", first, "--to", last, *more)

    def count_asked(self) -> Counter[str]:
        """Return model -> the number of its prompts in the last call."""
        return Counter(body["model"] for _, _, body in self.endpoint.requests)

    def query(self, sql: str) -> list[dict[str, Any]]:
        return query_rows(self.root, sql)

    def list_scored(self) -> list[tuple[str, str]]:
        """Return week and model of the leaderboard."""
        rows = self.query("from leaderboard join editions using (edition_id) order by label, model")
        return [(row["label"], row["model"]) for row in rows]


def test_past_weeks_are_made_completed_withdrawn_and_made_again(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    with serve_endpoint(answer_by_checksum) as endpoint:
        _make_past_weeks(Bench(tmp_path, prefect_server, endpoint))


def _make_past_weeks(bench: Bench) -> None:
    done = bench.backfill(*WEEKS).require()
    assert done.out.splitlines() == [f"{bench.root}/warehouse.duckdb", f"{bench.root}/report/index.html"]
    # Anchors are not asked.
    assert bench.count_asked() == {"first": 2 * N_PROMPTS}
    assert len(bench.query("from checks where expectation = 'texts_are_new'")) == 2
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
    twice = bench.call("withdraw", edition_id, "--reason", "again").require(2)
    assert f"{edition_id} was withdrawn on 20" in twice.err
    unknown = bench.call("withdraw", "2025-W40", "--reason", REASON).require(2)
    assert "the warehouse has no edition '2025-W40'" in unknown.err
    assert "the reason is empty" in bench.call("withdraw", WEEKS[1], "--reason", " ").require(2).err
    other = bench.query(f"from editions where label = '{WEEKS[1]}'")[0]["edition_id"]
    with FileLock(bench.root / evaluation_lock(other, "first-1")):
        busy = bench.call("withdraw", other, "--reason", REASON).require(2)
    assert f"a model is being evaluated on {other}" in busy.err
    # Nothing adds an evaluation to it, however it is started.
    config = load_config(bench.folder / "mine.toml")
    assert f"{edition_id} was withdrawn" in str(evaluate(config, edition_id, "first"))


RUN = """
import sys
from datetime import datetime
from pathlib import Path
from flows.regenerate import regenerate
for moment in sys.argv[2:]:
    regenerate(Path(sys.argv[1]), moment=datetime.fromisoformat(moment))
"""
# Of the weeks 48, 48 again, and 46.
MOMENTS = ("2026-11-23T03:00:00Z", "2026-11-25T03:00:00Z", "2026-11-09T03:00:00Z")
N_SAMPLES = 4 * 16


def test_a_run_for_an_old_week_keeps_its_edition_and_the_newest_one_first(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    root, base = tmp_path / "data", write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    client = open_client(prefect_server)

    def read_server(path: str, **filters: object) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = client.post(path, json=filters).raise_for_status().json()
        return rows

    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "far", "engine": "openai", "model": "far", "base_url": endpoint.base_url}
        config = write_config(
            tmp_path / "late.toml",
            root,
            # The editions of other tests on the same server have other names, and so have their runs.
            knowledge={"name": "late", "format": "table", "path": str(base)},
            models=[model | {"pairs_per_relation": 4}],
            storage={"keep_editions": 1},
        )
        environment = build_environment(prefect_server | {"PREFECT_LOGGING_LEVEL": "INFO"})
        command = [sys.executable, "-c", RUN, str(config), *MOMENTS]
        log = run_measured(command, folder=tmp_path, environment=environment).require().err
        assert len(endpoint.requests) == 2 * N_SAMPLES
    editions = {row["label"]: row["edition_id"] for row in query_rows(root, "from editions")}
    assert editions.keys() == {"2026-W46", "2026-W48"}
    rows = query_rows(root, "select distinct edition_id from leaderboard order by all")
    assert [row["edition_id"] for row in rows] == sorted(editions.values())
    old, newest = editions["2026-W46"], editions["2026-W48"]
    index = (root / "report/index.html").read_text()
    assert 0 < index.index(newest) < index.index(old)
    # The page of the newest week counts the week that was made later.
    (row,) = query_rows(root, f"from freshness where edition_id = '{newest}'")
    assert row["n_earlier_editions"] == 1
    assert any(f"/{old}/" in page.read_text() for page in (root / "report" / newest).glob("*.html"))
    (shown,) = read_server(
        "/artifacts/latest/filter", artifacts={"key": {"any_": [f"regenerate-{newest.lower()}"]}}
    )
    assert newest in shown["data"]
    assert old not in shown["data"]

    # Each run says in its log and in its state what it did.
    said = (
        f"{N_SAMPLES} prompts asked, 0 answers reused, 0 failed",
        f"0 prompts asked, {N_SAMPLES} answers reused, 0 failed",
    )
    lines = {
        week: [line.partition(" - ")[2] for line in log.splitlines() if f"'regenerate-late-{week}'" in line]
        for week in editions
    }
    for made, answered in zip(("built", "reused"), said, strict=True):
        stages = f"{made} triplets, variants, statements, samples"
        assert f"period 2026-W48, {newest}: {stages}" in lines["2026-W48"]
        assert f"far: {answered}" in lines["2026-W48"]
    page = (root / f"report/{old}/index.html").as_uri()
    assert any(f"1 of 1 evaluations are complete; page: {page}" in line for line in lines["2026-W46"])
    assert len(lines["2026-W46"]) <= 20
    named = {"name": {"any_": [f"evaluate-far-{newest}"]}}
    evaluated = read_server("/flow_runs/filter", flow_runs=named, sort="START_TIME_ASC")
    assert [run["state"]["message"] for run in evaluated] == [*said]
