"""Mastered points, and paired differences of facets and mastered points, against a computation by hand."""

from itertools import permutations
from pathlib import Path

import pytest

from tests.support.data_folder import DataFolder
from tests.support.expected_facets import expected_gap, judge_questions
from tests.support.expected_points import expected_mastered, expected_mastered_gap
from tests.support.question_folder import Point, QuestionFolder
from tests.support.question_models import always_right, erratic, fill_points
from tests.support.stage_rows import Row, digest
from warehouse.catalogue import FACET_ORDER
from warehouse.publishing import build_warehouse

EDITION = "facets-seed1-00000001"
POLICIES = ("strict", "excluded")


def able(question: Row, repeat: int) -> str | None:
    """Answer right, except to one question of 15, and to one of 30 not at all."""
    draw = int(digest("able", question["question_id"]), 16) % 30
    if draw == 0:
        return None
    return erratic(question, 7) if draw < 3 else str(question["answer"])


MODELS = {"able": able, "erratic": erratic, "right": always_right}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> QuestionFolder:
    folder = fill_points(QuestionFolder(DataFolder(tmp_path_factory.mktemp("points") / "data")))
    folder.write_edition(EDITION)
    for name, rule in MODELS.items():
        folder.data.write_model(name)
        folder.write_answers(EDITION, name, rule, policies=POLICIES)
    folder.write_answers(EDITION, "able", erratic, setting="chain_of_thought", n_repeats=3)
    build_warehouse(folder.data.root)
    return folder


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("policy", POLICIES)
def test_mastered_points(published: QuestionFolder, name: str, policy: str) -> None:
    found = published.data.query(
        f"from mastered_points where model_id = '{name}' and scoring_policy = '{policy}' "
        "and setting = 'answer_only'"
    )
    orders = {", ".join(order) for order in permutations(FACET_ORDER)}
    assert {row["facet_order"] for row in found} == orders
    assert len(found) == 24 * 4 * 2
    judged = judge_questions(published, MODELS[name], policy)
    cache: dict[tuple[frozenset[str], bool], Row] = {}
    for row in found:
        facets = row["facet_order"].split(", ")[: row["step"]]
        assert (row["facets"], row["facet"]) == (facets, facets[-1])
        key = frozenset(facets), row["is_negated_included"]
        expected = cache.get(key) or expected_mastered(published, judged, *key)
        cache[key] = expected
        if policy == "excluded" and expected["left_out_rate"] > 0.2:
            expected = {name: expected[name] for name in ("n_points", "n_incomplete_points", "left_out_rate")}
            assert row["mastered_rate"] is None
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-7), row


@pytest.mark.parametrize("policy", POLICIES)
def test_paired_differences(published: QuestionFolder, policy: str) -> None:
    judged = {name: judge_questions(published, rule, policy) for name, rule in MODELS.items()}
    where = f"where scoring_policy = '{policy}' and setting = other_setting"
    facets = published.data.query(f"from facet_comparison {where}")
    assert len(facets) == 3 * 4
    for row in facets:
        one, other = (
            [question for question in judged[model] if question["facet"] == row["facet"]]
            for model in (row["model_id"], row["other_model_id"])
        )
        expected = expected_gap(published, one, other)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-7), row
        assert row["difference"] == pytest.approx(row["accuracy"] - row["other_accuracy"])
        assert row["ci_low"] <= row["accuracy"] <= row["ci_high"]
    points = published.data.query(f"from mastered_points_comparison {where}")
    assert len(points) == 3 * 4 * 2
    for row in points:
        assert row["facets"] == list(FACET_ORDER[: row["step"]])
        one, other = judged[row["model_id"]], judged[row["other_model_id"]]
        expected = expected_mastered_gap(published, one, other, row["facets"], row["is_negated_included"])
        if row["difference"] is None:
            assert policy == "excluded"
            expected = {"n_points": expected["n_points"]}
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-7), row


def test_an_edition_without_a_facet_has_no_step_with_it(tmp_path: Path) -> None:
    folder = QuestionFolder(DataFolder(tmp_path / "data"))
    no_revision = ("RQ", "negated RQ", "negated MCQ", "negated MAQ", "negated TFQ")
    for name in ("Influenza", "Scabies"):
        folder.add_point(Point("symptoms", name, left_out=no_revision))
    folder.write_edition(EDITION)
    folder.data.write_model("m")
    folder.write_answers(EDITION, "m", always_right)
    build_warehouse(folder.data.root)
    rows = folder.data.query("from mastered_points where is_paper_order and not is_negated_included")
    assert [(row["step"], row["n_points"], row["mastered_rate"]) for row in rows] == [
        (1, 2, 1.0),
        (2, 2, 1.0),
    ]
