"""The rows of an export: every sample and question of an edition and, if it is tested, its prompt."""

import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pretexeval.storage.records import read_stage
from schemas.exchange import Sampling
from schemas.question_stages import QUESTIONS
from schemas.stages import METHODS, SAMPLES, SINGLE_METHODS, TRIPLETS
from schemas.transformations import NAMES
from tasks.asking.prompts import PromptForm
from tasks.evaluation.items import QUESTION_ITEMS, SAMPLE_ITEMS, ItemKind, select_items
from tasks.evaluation.requests import RequestSettings, build_requests, show_demonstrations

# Only the texts of the prompts are used, which are the same for every model in both prompt styles.
SETTINGS = RequestSettings("none", PromptForm(), Sampling(), None, lambda _: math.inf)
N_IN_TRIPLET = {method: 1 if method in SINGLE_METHODS else len(NAMES) for method in METHODS}
"""Method -> how many samples a complete triplet has."""
SAMPLE_COLUMNS = {
    "sample_id": "id of the sample in the edition; responses are imported by it",
    "prompt": "the exact text that an evaluation sends: demonstrations and question; null if not tested",
    "target": "the right answer: True or False",
    "method": "how the statement was made: pretexeval, prototype, direct, llmeval or origin",
    "relation": "relation of the knowledge base",
    "transformation": "the predicate transformation; null for llmeval",
    "triplet_id": "id of the triplet; a triplet counts for the joint accuracy if all its samples are right",
    "pair_id": "id of the true and the false triplet of one head and relation, which count for the mastery",
    "n_in_triplet": "how many samples a complete triplet has",
    "head": "name of the head entity",
    "tail": "name of the tail entity",
    "head_id": "id of the head, where the knowledge base has ids",
    "tail_id": "id of the tail, where the knowledge base has ids",
    "is_positive": "whether the knowledge base holds the triplet",
    "split": "test, or demonstration: held out and shown with its answer before the question",
    "text": "the statement",
    "rephraser": "who reworded the statement: none, reviewed, or a model id",
    "status": "accepted by the gate, fallback to the statement of the prototype, or as_is",
}
QUESTION_COLUMNS = {
    **{column.name: column.meaning for column in QUESTIONS.columns},
    "prompt": "the exact text that an evaluation sends in the setting answer_only; null if not tested",
    "target": "the right answer",
    "n_in_point": "how many questions a complete point has; if it has them and all are right, it is mastered",
}


def read_sample_relations(
    root: Path, edition_id: str, pairs_per_relation: int | None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of one relation after the other, with SAMPLE_COLUMNS; none without samples.

    The samples of a triplet follow each other, and so do the triplets of a pair, so that a tool which asks
    only the first samples asks about whole pairs.

    Args:
        pairs_per_relation: how many pairs are tested, as in a model's table; None: all of them.
    """
    samples, triplets = (read_stage(root, edition_id, stage) for stage in (SAMPLES, TRIPLETS))
    if samples is None or triplets is None:
        return
    named = triplets.select("triplet_id", "head", "tail", "head_id", "tail_id", "is_positive")
    for relation in sorted(samples["relation"].unique()):
        of_relation = samples.filter(pl.col("relation") == relation)
        yield (
            _add_prompts(SAMPLE_ITEMS, of_relation, pairs_per_relation)
            .join(named, on="triplet_id", how="left", maintain_order="left")
            .with_columns(
                pl.when("label").then(pl.lit("True")).otherwise(pl.lit("False")).alias("target"),
                pl.col("method").replace_strict(N_IN_TRIPLET, return_dtype=pl.Int8).alias("n_in_triplet"),
            )
            .sort(
                pl.col("split") == "demonstration",
                pl.col("method").replace_strict({m: n for n, m in enumerate(METHODS)}, return_dtype=pl.Int8),
                "pair_id",
                pl.col("is_positive").not_(),
                "sample_index",
                "sample_id",
            )
            .select(list(SAMPLE_COLUMNS))
        )


def read_question_relations(
    root: Path, edition_id: str, points_per_relation: int | None
) -> Iterator[pl.DataFrame]:
    """Yield the questions of one relation after the other, with QUESTION_COLUMNS; none without questions.

    Args:
        points_per_relation: how many points are tested, as in a model's table; None: all of them.
    """
    questions = read_stage(root, edition_id, QUESTIONS)
    if questions is None:
        return
    n_in_point = _count_forms(questions)
    for relation in sorted(questions["relation"].unique()):
        of_relation = questions.filter(pl.col("relation") == relation)
        yield (
            _add_prompts(QUESTION_ITEMS, of_relation, points_per_relation)
            .with_columns(pl.col("answer").alias("target"), pl.lit(n_in_point).alias("n_in_point"))
            .sort(pl.col("split") == "demonstration", "point_id", "type", "is_negated", "question_id")
            .select(list(QUESTION_COLUMNS))
        )


def _add_prompts(kind: ItemKind, rows: pl.DataFrame, limit: int | None) -> pl.DataFrame:
    """Return the tested and the held-out rows of a relation, with the column `prompt`, null if not tested."""
    items = kind.read_items(rows)
    built = build_requests(select_items(items, limit), show_demonstrations(kind, items), SETTINGS)
    prompts = pl.DataFrame(
        {kind.id_column: built.frame["item_id"], "prompt": [prompt.text for prompt in built.prompts]},
        {kind.id_column: pl.String, "prompt": pl.String},
    )
    joined = rows.join(prompts, on=kind.id_column, how="left", maintain_order="left")
    return joined.filter(pl.col("prompt").is_not_null() | (pl.col("split") == "demonstration"))


def _count_forms(questions: pl.DataFrame) -> int:
    """Return how many questions a complete point has, as the view mastered_points counts them.

    A point lacks a question for which the base has too few facts.
    """
    is_wrong_offered = (pl.col("type") == "RQ") & pl.col("answer").str.starts_with("F")
    tested = questions.filter(pl.col("split") == "test").select(
        "point_id", "type", "is_negated", is_wrong_offered.alias("is_wrong_offered")
    )
    place = pl.int_range(pl.len()).over(tested.columns).alias("place")
    return tested.select(pl.exclude("point_id"), place).n_unique()
