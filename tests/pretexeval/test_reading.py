"""The Python package: the warehouse, the rows of an edition and the predictions, as frames."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

import pretexeval
from pretexeval.primitives.errors import InputError
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.question_folder import QuestionFolder
from tests.support.question_models import always_right, erratic, fill_points
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

EDITION = "tiny-seed1-00000001"


def fill(folder: Path, *rules: str) -> Path:
    data = DataFolder(folder)
    for k in range(6):
        data.add_pair("symptoms", f"head {k}", f"tail {k}", f"tail {(k + 1) % 6}")
    data.write_edition(EDITION)
    for name in rules:
        data.write_model(name)
        data.write_answers(EDITION, name, getattr(simulated_models, name), policies=("strict", "excluded"))
    build_warehouse(data.root)
    return data.root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("it's") / "data", "expert", "silent")


def test_the_warehouse_is_open_read_only_beside_tables_in_memory(root: Path) -> None:
    with pretexeval.open_warehouse(root) as connection:
        rows = connection.execute("from leaderboard").fetchall()
        assert rows == run_query(root, "from leaderboard")[1]
        connection.execute("create table memory.mine as select model from leaderboard")
        assert connection.execute("select count(*) from memory.mine").fetchone() == (len(rows),)
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("delete from predictions")


def test_a_file_that_replaces_an_open_one_is_read_by_later_connections(tmp_path: Path) -> None:
    path, aside = tmp_path / "warehouse.duckdb", tmp_path / "aside"
    for target, number in ((path, 1), (aside, 2)):
        with duckdb.connect(target) as connection:
            connection.execute(f"create table things as select {number} as thing")
    with pretexeval.open_warehouse(tmp_path) as before:
        assert before.execute("from things").fetchall() == [(1,)]
        aside.replace(path)
        assert run_query(tmp_path, "from things")[1] == [(2,)]
        with pretexeval.open_warehouse(tmp_path) as after:
            assert after.execute("from things").fetchall() == [(2,)]


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-edition"], "no-such-edition"),
        ([EDITION, "rows"], "no stage 'rows'; it may have triplets, "),
        ([EDITION, "questions"], "has no questions"),
    ],
)
def test_rows_that_are_not_there(root: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pretexeval.load_edition(root, *arguments)


def test_predictions_of_one_model_or_all(root: Path) -> None:
    every = pretexeval.load_predictions(root, EDITION)
    assert every.height == len(every.to_pandas()) == 2 * 6 * 16
    one = pretexeval.load_predictions(root, EDITION, "Expert", method="pretexeval")
    assert one.equals(every.filter(model="Expert"))
    assert one["is_correct"].all()
    excluded = pretexeval.load_predictions(root, EDITION, "Silent", scoring_policy="excluded")
    assert excluded["is_correct"].null_count() == 6 * 16


def test_predictions_that_are_not_there_are_explained_with_those_that_are(root: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)model = 'Nobody'.*it has .*Expert \| pretexeval \| strict"):
        pretexeval.load_predictions(root, EDITION, "Nobody")


def test_predictions_of_questions(tmp_path: Path) -> None:
    folder = fill_points(QuestionFolder(DataFolder(tmp_path / "data")))
    folder.write_edition(EDITION)
    for name, rule in (("right", always_right), ("erratic", erratic)):
        folder.data.write_model(name)
        folder.write_answers(EDITION, name, rule, n_repeats=3, setting="chain_of_thought")
    folder.write_answers(EDITION, "right", always_right)
    root = build_warehouse(folder.data.root).parent
    questions = [row for row in folder.list_questions() if row["split"] == "test"]
    every = pretexeval.load_predictions(root, EDITION, setting="chain_of_thought")
    assert every.height == len(questions) * 2 * 3
    one = pretexeval.load_predictions(root, EDITION, "Right", setting="answer_only")
    assert one["is_correct"].all()
    assert set(one["question_id"]) == {row["question_id"] for row in questions}
    with pytest.raises(
        InputError, match=r"(?s)setting = 'answer_only'.*it has .*Erratic \| chain_of_thought"
    ):
        pretexeval.load_predictions(root, EDITION, "Erratic", setting="answer_only")
