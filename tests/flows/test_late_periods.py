"""`regenerate` for an old week after newer ones: everything stays in the order of the periods."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import build_environment, make_rows, run_measured, write_base, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum
from tests.support.prefect_server import open_client

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
    """The data folder that the runs left, their log, and the editions that are left, by their weeks."""

    root: Path
    log: str
    editions: dict[str, str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Runs:
    folder = tmp_path_factory.mktemp("late")
    base = write_base(folder / "own.tsv", make_rows("may_treat"))
    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "far", "engine": "openai", "model": "far", "base_url": endpoint.base_url}
        config = write_config(
            folder / "late.toml",
            folder / "data",
            # The editions of other tests on the same server have other names, and so have their runs.
            knowledge={"name": "late", "format": "table", "path": str(base)},
            models=[model | {"pairs_per_relation": 4}],
            storage={"keep_editions": 1},
        )
        environment = build_environment(prefect_server | {"PREFECT_LOGGING_LEVEL": "INFO"})
        command = [sys.executable, "-c", RUN, str(config), *MOMENTS]
        done = run_measured(command, folder=folder, environment=environment).require()
        assert len(endpoint.requests) == 2 * N_SAMPLES
    root = folder / "data"
    return Runs(
        root, done.err, {row["label"]: row["edition_id"] for row in query_rows(root, "from editions")}
    )


def read_server(server: dict[str, str], path: str, **filters: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = open_client(server).post(path, json=filters).raise_for_status().json()
    return rows


def test_a_run_for_an_old_week_keeps_its_edition_and_the_newest_one_first(
    runs: Runs, prefect_server: dict[str, str]
) -> None:
    assert runs.editions.keys() == {"2026-W46", "2026-W48"}
    rows = query_rows(runs.root, "select distinct edition_id from leaderboard order by all")
    assert [row["edition_id"] for row in rows] == sorted(runs.editions.values())
    old, newest = runs.editions["2026-W46"], runs.editions["2026-W48"]
    index = (runs.root / "report/index.html").read_text()
    assert 0 < index.index(newest) < index.index(old)
    # The page of the newest week counts the week that was made later.
    (row,) = query_rows(runs.root, f"from freshness where edition_id = '{newest}'")
    assert row["n_earlier_editions"] == 1
    assert any(f"/{old}/" in page.read_text() for page in (runs.root / "report" / newest).glob("*.html"))
    latest = read_server(prefect_server, "/artifacts/latest/filter", artifacts={"key": {"like_": "%-late"}})
    shown = {row["key"].removesuffix("-late"): f"{row['description']} {row['data']}" for row in latest}
    assert {"leaderboard", "models", "dashboard", "parquet", "warehouse", "quality-samples"} <= set(shown)
    assert [key for key, text in shown.items() if old in text] == []
    assert newest in shown["leaderboard"]


def test_each_run_says_in_its_log_and_state_what_it_did(runs: Runs, prefect_server: dict[str, str]) -> None:
    stages, edition_id = "triplets, variants, statements, samples", runs.editions["2026-W48"]
    newest, old = (
        [line.partition(" - ")[2] for line in runs.log.splitlines() if f"'regenerate-late-{week}'" in line]
        for week in ("2026-W48", "2026-W46")
    )
    said = (
        f"{N_SAMPLES} prompts asked, 0 answers reused, 0 failed",
        f"0 prompts asked, {N_SAMPLES} answers reused, 0 failed",
    )
    text = "\n".join(newest)
    for made, answered in zip(("built", "reused"), said, strict=True):
        assert f"period 2026-W48, {edition_id}: {made} {stages}\n" in text
        assert f"far: {answered}; pretexeval accuracy " in text
    page = (runs.root / f"report/{runs.editions['2026-W46']}/index.html").as_uri()
    assert f"1 of 1 evaluations are complete; page: {page}" in "\n".join(old)
    assert len(old) <= 20
    named = {"name": {"any_": [f"evaluate-far-{edition_id}"]}}
    evaluated = read_server(prefect_server, "/flow_runs/filter", flow_runs=named, sort="START_TIME_ASC")
    assert [run["state"]["message"] for run in evaluated] == [*said]
