"""Loading questions, their answers and their failures, in editions with and without samples."""

from datetime import datetime
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.question_folder import Point, QuestionFolder
from tests.support.question_models import always_right, erratic, fill_points
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse

REASON = "HTTP 400: content_filter"


@pytest.fixture
def folder(tmp_path: Path) -> QuestionFolder:
    return fill_points(QuestionFolder(DataFolder(tmp_path / "data")))


def count(folder: QuestionFolder, table: str) -> int:
    return int(folder.data.query(f"select count(*) as n from {table}")[0]["n"])


def fail_one(question: Row) -> str | None:
    return REASON if question["type"] == "TFQ" and question["head"] == "Disease 0" else None


def test_questions_without_samples(folder: QuestionFolder) -> None:
    folder.points = [point for point in folder.points if point.relation == "exam"]
    folder.data.pairs = []
    folder.write_edition(EDITION)
    folder.data.write_model("m")
    folder.write_answers(EDITION, "m", always_right, setting="chain_of_thought", n_repeats=5)
    build_warehouse(folder.data.root)
    assert [count(folder, t) for t in ("triplets", "samples", "questions")] == [0, 0, 20]
    assert [count(folder, t) for t in ("question_answers", "question_predictions")] == [100, 20]
    (run,) = folder.data.query("from question_runs")
    assert (run["setting"], run["n_questions"], run["n_repeats"], run["n_asked"]) == (
        "chain_of_thought",
        20,
        5,
        100,
    )
    assert run["finished_at"] == datetime(2026, 11, 20, 10)
    (edition,) = folder.data.query("select seed, negatives, pool, rephraser, methods from editions")
    assert list(edition.values()) == [1, None, None, None, None]
    for view in VIEWS:
        folder.data.query(f"from {view}")
    assert {row["accuracy"] for row in folder.data.query("from facet_accuracy")} == {1.0}


def test_samples_and_questions_of_one_edition(folder: QuestionFolder) -> None:
    folder.write_edition(EDITION, ("pretexeval",))
    folder.data.write_model("m")
    folder.data.write_answers(EDITION, "m", simulated_models.expert)
    folder.write_answers(EDITION, "m", always_right)
    folder.write_answers(EDITION, "m", erratic, setting="chain_of_thought", n_repeats=5)
    build_warehouse(folder.data.root)
    n_questions = sum(row["split"] == "test" for row in folder.list_questions())
    (usage,) = folder.data.query("from token_usage")
    assert (
        usage["n_prompts"] == count(folder, "(select distinct prompt_key from predictions)") + 6 * n_questions
    )
    assert count(folder, "runs") == 1
    assert {row["setting"] for row in folder.data.query("from facet_accuracy")} == {
        "answer_only",
        "chain_of_thought",
    }


def test_every_repeat_is_kept_with_its_response_and_the_rule(folder: QuestionFolder) -> None:
    folder.write_edition(EDITION)
    folder.data.write_model("m")
    folder.write_answers(EDITION, "m", erratic, n_repeats=3)
    build_warehouse(folder.data.root)
    question = folder.list_questions()[1]
    rows = folder.data.query(
        f"from question_answers where question_id = '{question['question_id']}' order by repeat"
    )
    assert [row["repeat"] for row in rows] == [0, 1, 2]
    for row in rows:
        answer = erratic(question, row["repeat"])
        assert (row["answer"], row["response"]) == (answer, f"The answer is {answer}")
        assert row["rule"] == (answer and "answer_is")
        assert row["n_demonstrations_dropped"] == 1


def test_too_many_failed_questions_give_no_score_in_their_setting(folder: QuestionFolder) -> None:
    folder.write_edition(EDITION, ("pretexeval",))
    folder.data.write_model("m")
    folder.data.write_answers(EDITION, "m", simulated_models.expert)
    folder.write_answers(EDITION, "m", always_right, fail=fail_one)
    folder.write_answers(EDITION, "m", always_right, setting="chain_of_thought", n_repeats=5)
    build_warehouse(folder.data.root)
    assert {row["setting"] for row in folder.data.query("from facet_accuracy")} == {"chain_of_thought"}
    (row,) = folder.data.query("from not_evaluated")
    n_questions = sum(row["split"] == "test" for row in folder.list_questions())
    assert (row["setting"], row["model_id"], row["n_samples"], row["n_errors"]) == (
        "answer_only",
        "m",
        n_questions,
        4,
    )
    assert row["reason"].startswith(f"4 of {n_questions} questions failed")
    assert row["reason"].endswith(REASON)


def test_too_many_questions_of_one_form_are_an_error(
    folder: QuestionFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [Point("exam", "Case", has_pair=False).list_questions()[0]] * 9
    rows = [row | {"question_id": f"{k:016x}"} for k, row in enumerate(many)]
    monkeypatch.setattr(QuestionFolder, "list_questions", lambda self: rows)
    folder.write_edition(EDITION)
    with pytest.raises(InputError, match="9 questions of the type MCQ"):
        build_warehouse(folder.data.root)
