"""The published MultiMedQA: our questions agree with it, and the recorded answers give its scores."""

import os
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from benchmarks.replay import (
    compare_extraction,
    compare_questions,
    derive_synonyms,
    list_mastered,
    list_scores,
    read_questions,
    replay,
)
from pretexeval.knowledge.medqa import build_synonyms, read_medqa
from tasks.asking.prompts import quote_statement
from tasks.questions.medqa_points import build_medqa_questions, list_unturned

FOLDER = Path(os.environ.get("PRETEXEVAL_REFERENCE_DATA", ""))
MEDQA = FOLDER / "medqa_us_test.parquet"
pytestmark = pytest.mark.skipif(
    not (MEDQA.is_file() and (FOLDER / "multifacet_scores.csv").is_file()),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with medqa_us_test.parquet and multifacet_*",
)


@pytest.mark.long
def test_every_published_question_is_made_and_has_its_answer() -> None:
    """Most texts are the published ones but for grammar; elsewhere, the published text is wrong."""
    unturned, compared = compare_questions(FOLDER)
    assert unturned.total() == 66
    assert len(compared) == 7185
    assert all(has_same_answer for *_, has_same_answer in compared)
    for kind, share in (("MCQ", 1.0), ("RQ", 1.0), ("MAQ", 0.9), ("TFQ", 0.75)):
        texts = [has_same_text for name, _, has_same_text, _ in compared if name == kind]
        assert sum(texts) / len(texts) >= share


def test_questions_of_all_items_use_the_published_synonyms() -> None:
    published = derive_synonyms(read_questions(FOLDER))
    assert (len(published), published["answer"].n_unique()) == (656, 358)
    table = published.with_row_index("row").with_columns(pl.lit("row").alias("place"))
    items = read_medqa(MEDQA).items
    questions = build_medqa_questions(items, build_synonyms(table, "published"), seed=0)
    n_points = questions["point_id"].n_unique()
    assert n_points + len(list_unturned(items)) == 1273
    assert questions.height == 9 * n_points
    # The statement ends the text, in one pair of quotation marks.
    texts = map(quote_statement, questions.filter(type="TFQ")["text"])
    assert all(re.search(r'(^|\n)Statement: "[^"\n]+"$', text) for text in texts)


@pytest.mark.long
def test_answers_are_read_as_the_authors_read_them() -> None:
    """The rules were written on five of nine models; most disagreements are the authors' mistakes."""
    found = compare_extraction(FOLDER)
    assert found.total() > 50_000
    for kind, least in (("MCQ", 0.995), ("RQ", 0.93), ("MAQ", 0.94), ("TFQ", 0.93)):
        counts = Counter({key[2:]: n for key, n in found.items() if key[:2] == ("ao", kind)})
        for models in ("developed on", "held out"):
            n_same, n_other = counts[models, True], counts[models, False]
            assert n_same / (n_same + n_other) >= least, (kind, models)


@pytest.mark.long
def test_predictions_of_the_authors_give_their_scores_and_mastered_points(tmp_path: Path) -> None:
    reports = replay(FOLDER, tmp_path, ["med42-70B"])
    scores = {row["type"]: row for row in list_scores(tmp_path, FOLDER)}
    for kind in ("RQ", "MAQ", "TFQ"):
        assert scores[kind]["replayed"] == pytest.approx(scores[kind]["from_processed"], abs=1e-4)
    # One question has two rows, both right, and one has none: 469 of 795 by row are 468 of 794 by id.
    assert scores["MCQ"]["from_processed"] == pytest.approx(100 * 469 / 795, abs=1e-4)
    assert scores["MCQ"]["replayed"] == scores["MCQ"]["strict"] == pytest.approx(100 * 468 / 794)
    mastered = list(list_mastered(tmp_path, FOLDER))
    assert len(mastered) == 2
    assert [ours for *_, ours, _ in mastered] == [published for *_, published in mastered]
    assert "1 ids without a row" in reports["answer_only", "med42-70B"]
