"""`pretexeval.run` in a process of its own, as a script and below a running event loop, as in a notebook."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pretexeval
from pretexeval.primitives.errors import InputError
from tests.support.command import build_environment, make_rows, write_base, write_config
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum

SCRIPT = """
import asyncio, json, sys
import pretexeval


async def cell():
    steps = []
    few = pretexeval.run(sys.argv[1], models=["near"], limit=2)
    n_few = pretexeval.load_predictions(few.root, few.edition_id).height
    result = pretexeval.run(sys.argv[1], steps.append)
    again = pretexeval.run(sys.argv[1])
    assert again == result
    rows = result.leaderboard.to_dicts()
    n_rows = pretexeval.load_predictions(result.root, result.edition_id).height
    paths = [result.edition, result.warehouse, result.page]
    failures = [few.failures, result.failures]
    print(json.dumps([steps, rows, [n_few, n_rows], failures, [str(path) for path in paths]], default=str))


if __name__ == "__main__":
    asyncio.run(cell())
"""


@pytest.mark.long
def test_a_notebook_runs_a_configuration_twice_and_reads_its_results(tmp_path: Path) -> None:
    base = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    with serve_endpoint(answer_by_checksum) as endpoint:
        near = {"name": "near", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        lost = {"name": "lost", "model": str(tmp_path / "none")}
        knowledge = {"name": "own", "format": "table", "path": str(base)}
        config = write_config(
            tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=[near, lost]
        )
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, config],
            cwd=tmp_path,
            env=build_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        n_requests = len(endpoint.requests)
    assert done.returncode == 0, done.stderr
    steps, rows, (n_few, n_rows), failures, paths = json.loads(done.stdout)
    assert steps[0] == "building the edition"
    assert [row["model"] for row in rows] == ["near"]
    assert rows[0]["n_samples"] == n_rows == n_requests
    assert n_few == 2 * 16
    assert [list(of_run) for of_run in failures] == [[], ["lost"]]
    assert all(Path(path).exists() for path in paths)


@pytest.mark.parametrize(
    ("choice", "message"),
    [({"models": ["none"]}, "no model 'none'"), ({"limit": 0}, "leaves nothing to ask; give 1 or more")],
)
def test_a_choice_that_leaves_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: dict[str, Any], message: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    base = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    knowledge = {"name": "own", "format": "table", "path": str(base)}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=[])
    with pytest.raises(InputError, match=message):
        pretexeval.run(config, **choice)


def test_prefect_that_was_imported_first_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setitem(sys.modules, "prefect", pytest)
    with pytest.raises(InputError, match="before anything imports Prefect"):
        pretexeval.run(tmp_path / "c.toml")
