"""Measurements of `python -m benchmarks` in small: the default ones, shards and their dispatch."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.other_tools import measure_engine, measure_small_jobs
from benchmarks.shards import measure_shards
from benchmarks.speed import measure_builds
from tests.support.command import REPOSITORY
from tests.support.database_folder import NEEDS_POSTGRES

pytestmark = pytest.mark.long
MODEL = Path(__file__).parents[2] / "models" / "reference-small"


def list_rows(table: str) -> list[str]:
    """Return the names of the rows of a table of FIGURES, after checking that each wall time is above 0."""
    rows = [line.rsplit(maxsplit=3) for line in table.splitlines()[2:] if not line.endswith(".")]
    assert all(float(wall_s) > 0 for _, wall_s, *_ in rows)
    return [name for name, *_ in rows]


def test_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRETEXEVAL_REFERENCE_DATA", raising=False)
    assert list_rows(measure_builds(tmp_path, [400])) == ["800 rows"]


@pytest.mark.usefixtures("variables_of_server")
def test_bare_engine(tmp_path: Path) -> None:
    table = measure_engine(tmp_path, MODEL, 1, {"knowledge": {"relations": ["may_treat"]}})
    assert list_rows(table) == ["pretexeval evaluate", "bare engine", "pretexeval evaluate, early_stop"]
    n_different, n_answers = (int(word) for word in table.splitlines()[-1].split() if word.isdigit())
    assert n_answers > 100
    assert n_different < 0.1 * n_answers


def test_shards_that_are_killed(tmp_path: Path) -> None:
    table = measure_shards(tmp_path, n_heads=400, n_shards=2, n_kills=2, n_at_once=2)
    assert list_rows(table)[:2] == ["shard-1-of-2", "shard-2-of-2"]


@NEEDS_POSTGRES
def test_dispatch() -> None:
    options = ["--runs", "2", "--workers", "2", "--query-seconds", "2"]
    command = [sys.executable, "-m", "benchmarks", "--only", "dispatch", *options]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "2 runs for 2 workers of 1 at a time" in done.stdout


@pytest.mark.usefixtures("variables_of_server")
def test_small_jobs(tmp_path: Path) -> None:
    # Each job checks the number of prompts that it asks.
    assert list_rows(measure_small_jobs(tmp_path, 1))[:2] == ["pretexeval run", "the same again"]
