"""The rows of an export: every question of an edition and, if it is tested, its prompt."""

import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from exports.rows import read_stage
from schemas.exchange import Sampling
from schemas.question_stages import QUESTIONS
from tasks.asking.prompts import PromptForm
from tasks.evaluation.question_requests import QuestionRequestBuilder, select_questions
from tasks.evaluation.requests import RequestSettings

ANSWER_ONLY = QuestionRequestBuilder()
# Only the texts of the prompts are used, which are the same for every model in both prompt styles.
SETTINGS = RequestSettings("none", PromptForm(), Sampling(), None, lambda _: math.inf)


def read_question_relations(
    root: Path, edition_id: str, points_per_relation: int | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the questions of one relation after the other, with the columns ``prompt`` and ``n_in_point``.

    Args:
        points_per_relation: how many points are tested, as in a model's table; None: all of them.
    """
    questions = read_stage(root, edition_id, QUESTIONS)
    if questions is None:
        return
    n_in_point = count_forms(questions)
    for relation in sorted(questions["relation"].unique()):
        of_relation = questions.filter(pl.col("relation") == relation)
        built = ANSWER_ONLY(of_relation, SETTINGS, points_per_relation)
        prompts = pl.DataFrame(
            {"question_id": built.frame["question_id"], "prompt": [prompt.text for prompt in built.prompts]},
            {"question_id": pl.String, "prompt": pl.String},
        )
        tested = select_questions(of_relation, points_per_relation)
        yield (
            pl.concat([tested, of_relation.filter(pl.col("split") == "demonstration")])
            .join(prompts, on="question_id", how="left", maintain_order="left")
            .with_columns(pl.lit(n_in_point).alias("n_in_point"))
            .sort(pl.col("split") == "demonstration", "point_id", "type", "is_negated", "question_id")
        )


def count_forms(questions: pl.DataFrame) -> int:
    """Return how many questions a complete point has, as the view mastered_points counts them.

    A point lacks a question for which the base has too few facts.
    """
    form = ["type", "is_negated", "is_wrong_offered"]
    is_wrong_offered = (pl.col("type") == "RQ") & pl.col("answer").str.starts_with("F")
    tested = questions.filter(pl.col("split") == "test").with_columns(
        is_wrong_offered.alias("is_wrong_offered")
    )
    place = pl.int_range(pl.len()).over("point_id", *form).alias("place")
    return tested.select(*form, place).n_unique()
