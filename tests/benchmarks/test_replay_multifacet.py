"""The published answers to MultiMedQA, imported by id, give the published scores."""

import os
from pathlib import Path

import duckdb
import pytest

from benchmarks.replay_draws import expect_fill, expect_right
from benchmarks.replay_multifacet import replay
from benchmarks.replay_readings import list_effects
from benchmarks.replay_scores import list_mastered, list_scores
from benchmarks.replay_ties import list_ties
from tasks.answers.reading import Reading

FOLDER = Path(os.environ.get("PRETEXEVAL_REFERENCE_DATA", ""))
needs_reference = pytest.mark.skipif(
    not (FOLDER / "multifacet_scores.csv").is_file(),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with multifacet_scores.csv",
)


@needs_reference
def test_predictions_of_the_authors_give_their_scores_and_mastered_points(tmp_path: Path) -> None:
    replayed = replay(FOLDER, tmp_path, ("med42-70B",))
    with duckdb.connect(str(replayed.warehouse), read_only=True) as connection:
        scores = {score.type: score for score in list_scores(connection, FOLDER)}
        mastered = list(list_mastered(connection, FOLDER))
    assert {kind for kind, score in scores.items() if score.is_exact} == {"RQ", "MAQ", "TFQ"}
    # One question has two rows, both right, and one has none: 469 of 795 by row are 468 of 794 by id.
    assert scores["MCQ"].from_processed == pytest.approx(100 * 469 / 795, abs=1e-4)
    assert scores["MCQ"].replayed == pytest.approx(100 * 468 / 794)
    assert [ours for *_, ours, _ in mastered] == [published for *_, published in mastered]
    assert len(mastered) == 2
    assert all(scores[kind].is_within for kind in ("MCQ", "RQ", "TFQ"))
    report = replayed.reports["answer_only", "med42-70B"]
    assert "1 ids with equal rows" in report
    assert "1 ids without a row" in report


@needs_reference
def test_the_questions_behind_a_difference_are_named() -> None:
    (effect,) = list_effects(FOLDER, ["med42-70B"])
    assert effect.render() == ["med42-70B", "ours", "one of identical options", "1", "289"]


@needs_reference
def test_the_authors_draw_ties_of_what_they_extracted() -> None:
    for ties in list_ties(FOLDER):
        assert ties.n_drawn_from == ties.n_questions == 795
        assert ties.n_first < ties.n_tied
        assert abs(ties.score - ties.expected) < 3 * ties.sd


@pytest.mark.parametrize(
    ("kind", "fragment", "right", "chance"),
    [
        ("MCQ", None, "B", 0.2),
        ("TFQ", None, "T", 0.5),
        ("MAQ", None, "A,C", 0.0),
        ("RQ", None, "T|B", 0.5),
        ("RQ", None, "F|B", 0.125),
        ("RQ", "F|?", "F|C", 0.25),
        ("RQ", "T|?", "F|C", 0.0),
        ("RQ", "?|C", "F|C", 0.5),
        ("RQ", "?|A", "F|C", 0.0),
    ],
)
def test_missing_halves_are_drawn(kind: str, fragment: str | None, right: str, chance: float) -> None:
    assert expect_fill(kind, fragment, right) == pytest.approx(chance)


def test_ties_are_drawn() -> None:
    winners = [Reading("A", "stated"), Reading("B", "stated"), Reading("C", "leading")]
    assert expect_right("MCQ", winners, "B") == pytest.approx(1 / 3)
    assert expect_right("MCQ", winners, "E") == 0
    assert expect_right("MCQ", winners[:1], "A") == 1
    assert expect_right("MCQ", [Reading(None, "other_question", "A")], "A") == pytest.approx(0.2)
    halves = [Reading(None, "stated", "?|A"), Reading(None, "stated", "?|C")]
    assert expect_right("RQ", halves, "F|C") == pytest.approx(0.25)
    assert expect_right("TFQ", [], "T") == 0.5
