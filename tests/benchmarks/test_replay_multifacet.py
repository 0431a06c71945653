"""The published answers to MultiMedQA, imported by id, give the published scores."""

import os
from pathlib import Path

import duckdb
import pytest

from benchmarks.replay_multifacet import replay
from benchmarks.replay_scores import expect_fill, list_mastered, list_scores

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
