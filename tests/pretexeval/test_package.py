"""The Python package: its frames, a run from a script, and the example notebook on a small published root."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

import pretexeval
from pretexeval.primitives.errors import InputError
from tests.support import data_folder
from tests.support.command import REPOSITORY, build_environment, make_rows, write_base, write_config
from tests.support.data_folder import DataFolder
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum
from tests.support.question_folder import QuestionFolder, always_right, fill_points
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

EDITION = "tiny-seed1-00000001"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = DataFolder(tmp_path_factory.mktemp("it's") / "data")
    data.add_pairs("symptoms", 6)
    data.write_edition(EDITION)
    for name in ("erratic", "silent"):
        data.write_answers(EDITION, name, getattr(data_folder, name), policies=("strict", "excluded"))
    build_warehouse(data.root)
    return data.root


def test_the_warehouse_is_open_read_only_beside_tables_in_memory(root: Path) -> None:
    with pretexeval.open_warehouse(root) as connection:
        rows = connection.execute("from leaderboard").fetchall()
        assert rows == run_query(root, "from leaderboard")[1]
        connection.execute("create table memory.mine as select model from leaderboard")
        assert connection.execute("select count(*) from memory.mine").fetchone() == (len(rows),)
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("delete from answers")


def test_a_missing_warehouse_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no warehouse yet; `pretexeval run CONFIG`"):
        pretexeval.open_warehouse(tmp_path)
    (tmp_path / "warehouse.duckdb").write_text("not a database " * 1000)
    with pytest.raises(InputError, match="cannot be read"):
        pretexeval.open_warehouse(tmp_path)


def test_rows_of_an_edition(root: Path) -> None:
    samples = pretexeval.load_edition(root, EDITION)
    assert isinstance(samples, pl.DataFrame)
    assert samples.height == 6 * 16
    triplets = pretexeval.load_edition(str(root), EDITION, "triplets")
    assert set(samples["triplet_id"]) == set(triplets["triplet_id"])
    messages = {
        ("no-such-edition",): "no-such-edition",
        (EDITION, "rows"): "no stage 'rows'; it may have triplets, ",
        (EDITION, "questions"): "has no questions",
    }
    for arguments, message in messages.items():
        with pytest.raises(InputError, match=message):
            pretexeval.load_edition(root, *arguments)


def test_predictions_of_one_model_or_all(root: Path) -> None:
    every = pretexeval.load_predictions(root, EDITION)
    assert every.height == len(every.to_pandas()) == 2 * 6 * 16
    one = pretexeval.load_predictions(root, EDITION, "Erratic", method="pretexeval")
    assert one.equals(every.filter(model="Erratic"))
    assert one["is_correct"].mean() == 77 / 96
    excluded = pretexeval.load_predictions(root, EDITION, "Silent", scoring_policy="excluded")
    assert excluded["is_correct"].null_count() == 6 * 16
    # Those that are not there are explained with those that are.
    with pytest.raises(InputError, match=r"(?s)model = 'Nobody'.*it has .*Erratic \| pretexeval \| strict"):
        pretexeval.load_predictions(root, EDITION, "Nobody")


def test_predictions_of_questions(tmp_path: Path) -> None:
    folder = fill_points(QuestionFolder(DataFolder(tmp_path / "data")))
    folder.write_edition(EDITION)
    for n_repeats, setting in ((3, "chain_of_thought"), (1, "answer_only")):
        folder.write_answers(EDITION, "right", always_right, n_repeats=n_repeats, setting=setting)
    root = build_warehouse(folder.data.root).parent
    questions = [row for row in folder.list_questions() if row["split"] == "test"]
    assert pretexeval.load_predictions(root, EDITION, setting="chain_of_thought").height == len(questions) * 3
    one = pretexeval.load_predictions(root, EDITION, "Right", setting="answer_only")
    assert one["is_correct"].all()
    assert set(one["question_id"]) == {row["question_id"] for row in questions}
    with pytest.raises(InputError, match=r"(?s)setting = 'none'.*it has .*Right \| chain_of_thought"):
        pretexeval.load_predictions(root, EDITION, "Right", setting="none")


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


def write_run(folder: Path, models: list[dict[str, str]]) -> Path:
    knowledge = write_base(folder / "own.tsv", make_rows("may_treat"))
    return Path(write_config(folder / "c.toml", folder / "data", knowledge=knowledge, models=models))


@pytest.mark.long
def test_a_notebook_runs_a_configuration_twice_and_reads_its_results(tmp_path: Path) -> None:
    """Below a running event loop, in a process of its own."""
    with serve_endpoint(answer_by_checksum) as endpoint:
        near = {"name": "near", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        config = write_run(tmp_path, [near, {"name": "lost", "model": str(tmp_path / "none")}])
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


def test_a_choice_that_leaves_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"models": ["none"]}, "no model 'none'"),
        ({"limit": 0}, "leaves nothing to ask; give 1 or more"),
    ]
    for choice, message in cases:
        monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
        with pytest.raises(InputError, match=message):
            pretexeval.run(write_run(tmp_path, []), **choice)


def test_prefect_that_was_imported_first_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setitem(sys.modules, "prefect", pytest)
    with pytest.raises(InputError, match="before anything imports Prefect"):
        pretexeval.run(tmp_path / "c.toml")


def test_the_notebook_agrees_with_the_views(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRETEXEVAL_ROOT", str(root))
    from examples.notebook import app

    defined: Mapping[str, Any] = app.run()[1]
    assert defined["chosen"].value == EDITION
    models = run_query(root, "select model, mastery from leaderboard where scoring_policy = 'strict'")[1]
    assert dict(defined["leaderboard"].select("model", "mastery").iter_rows()) == dict(models)
    missed = "select head from pair_details where not is_mastered and scoring_policy = 'strict'"
    # The notebook lists the facts whose true triplet was misjudged.
    heads = set(defined["missed"]["head"])
    assert heads
    assert heads <= {head for (head,) in run_query(root, f"{missed} and model = 'Erratic'")[1]}
    for name in ("leaderboard_chart", "transformation_chart"):
        assert defined[name].to_dict()["datasets"]


def test_example_of_the_readme_reads_what_a_run_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    script = page.partition("```python\n")[2].partition("```")[0].replace("reference-large", "Erratic")
    monkeypatch.setattr(pretexeval, "run", lambda _: SimpleNamespace(root=root, edition_id=EDITION))
    names: dict[str, Any] = {}
    exec(script, names)
    assert len(names["table"]) == 6 * 16
