"""The accuracy of facets, against a computation question by question."""

from pathlib import Path

import pytest

from tests.support.data_folder import DataFolder
from tests.support.expected_facets import expected_accuracy, judge_questions
from tests.support.question_folder import AnswerRule, Point, QuestionFolder
from tests.support.question_models import MODELS, agreeing, fill_points
from tests.support.stage_rows import Row
from warehouse.publishing import build_warehouse

EDITION = "facets-seed1-00000001"
POLICIES = ("strict", "excluded")
RULES = pytest.mark.parametrize("rule", MODELS, ids=lambda rule: rule.__name__)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> QuestionFolder:
    folder = fill_points(QuestionFolder(DataFolder(tmp_path_factory.mktemp("facets") / "data")))
    folder.write_edition(EDITION)
    for rule in MODELS:
        folder.data.write_model(rule.__name__)
        folder.write_answers(EDITION, rule.__name__, rule, policies=POLICIES)
    build_warehouse(folder.data.root)
    return folder


@RULES
@pytest.mark.parametrize("policy", POLICIES)
def test_accuracy(published: QuestionFolder, rule: AnswerRule, policy: str) -> None:
    found = published.data.query(
        f"from facet_accuracy where model_id = '{rule.__name__}' and scoring_policy = '{policy}'"
    )
    assert len({(row["facet"], row["is_negated"]) for row in found}) == len(found) == 12
    judged = judge_questions(published, rule, policy)
    for row in found:
        own = [
            question
            for question in judged
            if question["facet"] == row["facet"] and row["is_negated"] in (None, question["is_negated"])
        ]
        expected = expected_accuracy(published, own)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-7), row


def test_thoughts_that_did_not_end_are_part_of_the_missing_answers(tmp_path: Path) -> None:
    folder = QuestionFolder(DataFolder(tmp_path / "data"))
    for n in range(4):
        folder.add_point(Point("symptoms", f"Disease {n}"))
    folder.write_edition(EDITION)
    folder.data.write_model("m")

    def answer(question: Row, repeat: int) -> str | None:
        """Answer nothing about Disease 0 and Disease 1; answer the rest in the first repeat alone."""
        is_answered = question["head"] not in ("Disease 0", "Disease 1") and repeat == 0
        return str(question["answer"]) if is_answered else None

    def cut(question: Row, repeat: int) -> bool:
        return question["head"] != "Disease 1" and question["type"] == "MCQ" and repeat == 1

    folder.write_answers(EDITION, "m", answer, n_repeats=2, cut=cut)
    build_warehouse(folder.data.root)
    rows = folder.data.query(
        "select type, no_answer_rate, unfinished_reasoning_rate from facet_accuracy where not is_negated"
    )
    assert {row["type"]: tuple(row.values())[1:] for row in rows} == {
        "MCQ": (0.5, 0.25),
        "RQ": (0.5, 0.0),
        "MAQ": (0.5, 0.0),
        "TFQ": (0.5, 0.0),
    }
    rates = folder.data.query(
        "select unfinished_reasoning_rate as rate from mastered_points "
        "where is_paper_order and not is_negated_included order by step"
    )
    # One question of comparison, one of verification, two of rectification, one of discrimination.
    assert [row["rate"] for row in rates] == pytest.approx([0.25 / n for n in (1, 2, 4, 5)])


def test_points_weigh_the_same_whatever_their_options(tmp_path: Path) -> None:
    folder = QuestionFolder(DataFolder(tmp_path / "data"))
    for n in (4, 5):
        folder.add_point(Point("symptoms", f"Disease {n}", n_options=n))
    folder.write_edition(EDITION)
    folder.data.write_model("m")
    folder.write_answers(EDITION, "m", agreeing)
    build_warehouse(folder.data.root)
    (row,) = folder.data.query(
        "select accuracy, random_baseline from facet_accuracy where type = 'RQ' and is_negated is null"
    )
    assert list(row.values()) == pytest.approx([(1 / 4 + 1 / 5) / 2] * 2)
