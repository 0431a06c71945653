"""`regenerate` for an old week after newer ones: everything stays in the order of the periods."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.command import build_environment, make_rows, run_measured, write_base, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum

pytestmark = pytest.mark.long

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


@dataclass(frozen=True)
class Runs:
    """What the runs left: the data folder, their log, and the last artifact of each key."""

    root: Path
    log: str
    artifacts: dict[str, str]
    states: dict[str, list[str]]
    """Name of a run -> the messages of its states, in the order of the runs."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Runs:
    folder = tmp_path_factory.mktemp("backfill")
    base = write_base(folder / "own.tsv", make_rows("may_treat"))
    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "far", "engine": "openai", "model": "far", "base_url": endpoint.base_url}
        config = write_config(
            folder / "backfilled.toml",
            folder / "data",
            knowledge={"name": "own", "format": "table", "path": str(base)},
            models=[model | {"pairs_per_relation": 4}],
            storage={"keep_editions": 1},
        )
        environment = build_environment(prefect_server | {"PREFECT_LOGGING_LEVEL": "INFO"})
        command = [sys.executable, "-c", RUN, str(config), *MOMENTS]
        done = run_measured(command, folder=folder, environment=environment).require()
        assert len(endpoint.requests) == 2 * N_SAMPLES

    def read(path: str, **filters: object) -> list[dict[str, Any]]:
        answer = httpx.post(f"{prefect_server['PREFECT_API_URL']}{path}", json=filters, timeout=30)
        rows: list[dict[str, Any]] = answer.raise_for_status().json()
        return rows

    keys = {"key": {"like_": "%-backfilled"}}
    latest = read("/artifacts/latest/filter", artifacts=keys)
    states: dict[str, list[str]] = {}
    for run in read("/flow_runs/filter", sort="START_TIME_ASC", flow_runs={"name": {"like_": "-far-"}}):
        states.setdefault(run["name"], []).append(str(run["state"]["message"]))
    artifacts = {
        row["key"].removesuffix("-backfilled"): f"{row['description']} {row['data']}" for row in latest
    }
    return Runs(folder / "data", done.err, artifacts, states)


def find_editions(runs: Runs) -> dict[str, str]:
    """Return week -> its edition, of those that are left."""
    return {row["label"]: row["edition_id"] for row in query_rows(runs.root, "from editions")}


def test_a_run_for_an_old_week_keeps_its_edition_and_the_newest_one(runs: Runs) -> None:
    assert set(find_editions(runs)) == {"2026-W46", "2026-W48"}
    rows = query_rows(runs.root, "select distinct edition_id from leaderboard order by all")
    assert [row["edition_id"] for row in rows] == sorted(find_editions(runs).values())


def test_the_newest_week_stays_first_in_the_index_and_the_last_of_its_artifacts(runs: Runs) -> None:
    editions = find_editions(runs)
    index = (runs.root / "report/index.html").read_text()
    assert 0 < index.index(editions["2026-W48"]) < index.index(editions["2026-W46"])
    shown = {"leaderboard", "models", "dashboard", "parquet", "warehouse", "quality-samples"}
    assert shown <= set(runs.artifacts)
    assert [key for key, text in runs.artifacts.items() if editions["2026-W46"] in text] == []
    assert editions["2026-W48"] in runs.artifacts["leaderboard"]


def test_the_page_of_the_newest_week_counts_the_week_that_was_made_later(runs: Runs) -> None:
    newest = find_editions(runs)["2026-W48"]
    (row,) = query_rows(runs.root, f"from freshness where edition_id = '{newest}'")
    assert row["n_earlier_editions"] == 1
    texts = [path.read_text() for path in (runs.root / "report" / newest).glob("*.html")]
    assert any(f"/{find_editions(runs)['2026-W46']}/" in text for text in texts)


def test_each_run_says_in_its_log_and_state_what_it_did(runs: Runs) -> None:
    stages = "triplets, variants, statements, samples"
    newest, old = (
        [
            line.partition(" - ")[2]
            for line in runs.log.splitlines()
            if f"'regenerate-backfilled-{week}'" in line
        ]
        for week in ("2026-W48", "2026-W46")
    )
    editions = find_editions(runs)
    text = "\n".join(newest)
    assert f"period 2026-W48, {editions['2026-W48']}: built {stages}\n" in text
    assert f"period 2026-W48, {editions['2026-W48']}: reused {stages}\n" in text
    assert f"far: {N_SAMPLES} prompts asked, 0 answers reused, 0 failed; pretexeval accuracy " in text
    assert f"far: 0 prompts asked, {N_SAMPLES} answers reused, 0 failed; pretexeval accuracy " in text
    page = (runs.root / f"report/{editions['2026-W46']}/index.html").as_uri()
    assert f"1 of 1 evaluations are complete; page: {page}" in "\n".join(old)
    assert len(old) <= 20
    name = f"evaluate-far-{editions['2026-W48']}"
    assert runs.states[name] == [
        f"{N_SAMPLES} prompts asked, 0 answers reused, 0 failed",
        f"0 prompts asked, {N_SAMPLES} answers reused, 0 failed",
    ]
