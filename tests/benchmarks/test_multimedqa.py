"""Our MultiMedQA beside the published one: every published item is turned, and every answer agrees."""

import os
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from benchmarks.multimedqa import Compared, compare_point, find_turned
from benchmarks.multimedqa_causes import (
    CAPITALS,
    FORMS,
    INSTRUCTION,
    LOST,
    NOTHING,
    NOUNS,
    PLACE,
    SENTENCE,
    STRAY,
    TWICE,
    find_cause,
)
from benchmarks.published_multimedqa import PublishedPoint, derive_synonyms, read_published_points
from knowledge.medqa import fold_option, read_medqa
from knowledge.synonyms import build_synonyms
from tasks.asking.case_text import quote_statement
from tasks.questions.medqa_points import TurnedItem, build_medqa_questions, list_unturned
from tasks.questions.statements import ask, find_option_forms, state

FOLDER = Path(os.environ.get("PRETEXEVAL_REFERENCE_DATA", ""))
MEDQA, PUBLISHED = FOLDER / "medqa_us_test.parquet", FOLDER / "multifacet_questions.parquet"
needs_reference = pytest.mark.skipif(
    not (MEDQA.is_file() and PUBLISHED.is_file()),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with medqa_us_test.parquet",
)


@pytest.fixture(scope="module")
def points() -> list[PublishedPoint]:
    return read_published_points(PUBLISHED)


@pytest.fixture(scope="module")
def turned() -> dict[str, TurnedItem]:
    return find_turned(read_medqa(MEDQA).items)[0]


@pytest.fixture(scope="module")
def compared(points: list[PublishedPoint], turned: dict[str, TurnedItem]) -> list[Compared]:
    return [question for point in points for question in compare_point(point, turned[point.key])]


@needs_reference
def test_every_published_item_is_turned(points: list[PublishedPoint], turned: dict[str, TurnedItem]) -> None:
    assert len(turned) >= 1200
    assert Counter(point.split for point in points) == {"test": 795, "dev": 5}
    assert all(point.key in turned for point in points)


@needs_reference
def test_every_answer_is_the_published_one(compared: list[Compared]) -> None:
    assert len(compared) == 7185
    assert all(question.has_same_answer for question in compared)


@needs_reference
def test_most_texts_are_the_published_ones_but_for_grammar(compared: list[Compared]) -> None:
    is_same = {NOTHING, STRAY, CAPITALS, FORMS}
    for kind, share in (("MCQ", 1.0), ("RQ", 1.0), ("MAQ", 0.9), ("TFQ", 0.75)):
        texts = [question.cause in is_same for question in compared if question.type == kind]
        assert sum(texts) / len(texts) >= share


@needs_reference
def test_questions_of_all_items_use_the_published_synonyms(points: list[PublishedPoint]) -> None:
    table = derive_synonyms(points).with_row_index("row").with_columns(pl.lit("row").alias("place"))
    synonyms = build_synonyms(table, "published")
    items = read_medqa(MEDQA).items
    questions, left_out = build_medqa_questions(items, synonyms, seed=0), list_unturned(items)
    n_points = questions["point_id"].n_unique()
    assert n_points + len(left_out) == 1273
    assert questions.height == 9 * n_points
    n_right = questions.filter(type="MAQ", is_negated=False)["answer"].str.split(",").list.len()
    assert set(n_right) == {1, 2, 3, 4}
    options = questions.filter(type="MAQ")["options"].to_list()
    assert all(len({fold_option(name) for name in names}) == 5 for names in options)
    # The statement ends the text, in one pair of quotation marks.
    texts = map(quote_statement, questions.filter(type="TFQ")["text"])
    assert all(re.search(r'(^|\n)Statement: "[^"\n]+"$', text) for text in texts)


@needs_reference
def test_every_negation_changes_the_question_and_the_statements(turned: dict[str, TurnedItem]) -> None:
    for one in turned.values():
        clause, options = one.clause, one.item.options
        assert ask(clause, is_negated=False) != ask(clause, is_negated=True)
        for option, form in zip(options, find_option_forms(clause, options), strict=True):
            both = [state(clause, option, form, is_negated) for is_negated in (False, True)]
            n_nots = [len(re.findall(r"\b(?:not|cannot)\b", text)) for text in both]
            assert abs(n_nots[0] - n_nots[1]) == 1, both


@pytest.mark.parametrize(
    ("ours", "theirs", "cause"),
    [
        ("Gout is it.", "Gout is it.", NOTHING),
        ("Gout is it.", 'Gout\n" is it."', STRAY),
        ("Loss of the skin.", "Loss of Skin.", CAPITALS),
        ("Cells do not best explain it.", "Cells do not best explains it.", FORMS),
        ('Statement: "To give rest is the cure."', 'Statement: "Give rest is the cure."', INSTRUCTION),
        ('Statement: "The cure is rest and tea."', 'Statement: "Rest and tea is the cure."', NOUNS),
        ('Statement: "The following is so: It is."', 'Statement: "It is is so."', SENTENCE),
        ("What does not likely cause it?", "What likely do not causes it?", PLACE),
        ("Gout most likely explains it.", "Gout explains it.", LOST),
        ("Gout would be expected.", "Gout would not NOT be expected.", TWICE),
    ],
)
def test_kinds_of_differences(ours: str, theirs: str, cause: str) -> None:
    assert find_cause(ours, theirs) == cause
