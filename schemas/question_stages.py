"""The stage questions: a knowledge point asked from four sides (MultifacetEval, sections 3.2 and 3.3)."""

from typing import get_args

import pyarrow as pa

from schemas.choices import QuestionSetting
from schemas.columns import RELATION, SPLIT, Column, Stage, define_id

FACET_OF = {
    "MCQ": "comparison",
    "RQ": "rectification",
    "MAQ": "discrimination",
    "TFQ": "verification",
}
"""Type of question (multiple choice, revision, multiple answer, true or false) -> the facet it examines."""
TYPES = tuple(FACET_OF)
SETTINGS: tuple[str, ...] = get_args(QuestionSetting)
LETTERS = "ABCDEFGHIJ"
"""The names of a question's options, in order."""
ANSWER_PATTERN = "^(?:[A-J](?:,[A-J])*|[TF]|[TF]\\|[A-J])$"
READ_PATTERN = "^(?:[A-J](?:,[A-J])*|[TFU]|[TF]\\|[A-J])$"
"""An answer of a model, which may be U (Unsure). No right answer is."""

QUESTIONS = Stage(
    "questions",
    "a question about a knowledge point",
    ("question_id",),
    (
        define_id("question_id", "hash of the point, type, form, text, options and answer"),
        define_id("point_id", "hash of the knowledge point: relation and head, or the original question"),
        define_id("pair_id", "the pair of samples about the same point; null if none", is_nullable=True),
        RELATION,
        Column("head", pa.string(), "head of the point; null if it has no triplets", is_nullable=True),
        SPLIT,
        Column("facet", pa.string(), "what the question examines", values=tuple(FACET_OF.values())),
        Column(
            "type", pa.string(), "multiple choice, revision, multiple answer, true or false", values=TYPES
        ),
        Column("is_negated", pa.bool_(), "whether the question is the negated form"),
        Column("text", pa.string(), "the question without its options"),
        Column("options", pa.list_(pa.string()), "the options in order; empty for TFQ"),
        Column(
            "answer",
            pa.string(),
            "right answer: letter (MCQ), sorted letters (MAQ), T or F (TFQ), judgement|letter (RQ)",
            pattern=ANSWER_PATTERN,
        ),
        Column(
            "offered", pa.string(), "letter of the offered option (RQ)", is_nullable=True, pattern="^[A-J]$"
        ),
        Column("source", pa.string(), "where the question comes from", is_nullable=True),
    ),
)
