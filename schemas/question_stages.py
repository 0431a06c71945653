"""The stages of questions: a knowledge point asked from four sides (MultifacetEval, sections 3.2 and 3.3)."""

import pyarrow as pa

from schemas.columns import (
    HOW_ASKED,
    MODEL_ID,
    PROMPT_KEY,
    RELATION,
    REPEAT,
    SCORING_POLICY,
    SPLIT,
    Column,
    Stage,
    define_id,
)

FACET_OF = {
    "MCQ": "comparison",
    "RQ": "rectification",
    "MAQ": "discrimination",
    "TFQ": "verification",
}
"""Type of question (multiple choice, revision, multiple answer, true or false) -> the facet it examines."""
TYPES = tuple(FACET_OF)
SETTINGS = ("answer_only", "chain_of_thought")
LETTERS = "ABCDEFGHIJ"
"""The names of a question's options, in order."""
_LETTER = "^[A-J]$"
_ANSWER = "^(?:[A-J](?:,[A-J])*|[TF]|[TF]\\|[A-J])$"

QUESTION_ID = define_id("question_id", "hash of the point, type, form, text, options and answer")
QUESTIONS = Stage(
    "questions",
    "a question about a knowledge point",
    ("question_id",),
    (
        QUESTION_ID,
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
            pattern=_ANSWER,
        ),
        Column(
            "offered", pa.string(), "letter of the offered option (RQ)", is_nullable=True, pattern=_LETTER
        ),
        Column("source", pa.string(), "where the question comes from", is_nullable=True),
    ),
)
QUESTION_REQUESTS = Stage(
    "question_requests",
    "a question put to a model",
    ("question_id", "repeat"),
    (
        QUESTION_ID,
        MODEL_ID,
        PROMPT_KEY,
        REPEAT,
        RELATION,
        *HOW_ASKED,
    ),
)
QUESTION_READINGS = Stage(
    "question_readings",
    "an answer to a question, as it was read",
    ("question_id", "repeat"),
    (
        QUESTION_ID,
        MODEL_ID,
        PROMPT_KEY,
        REPEAT,
        RELATION,
        Column(
            "answer",
            pa.string(),
            "what the response says, written like the right answer; null for no answer",
            is_nullable=True,
            pattern=_ANSWER,
        ),
        Column("rule", pa.string(), "which rule found the answer or a part of it", is_nullable=True),
        Column(
            "error",
            pa.string(),
            "why the prompt has no response; null if it has one",
            is_nullable=True,
        ),
        Column(
            "is_unfinished_reasoning",
            pa.bool_(),
            "true if there is no answer because the thought did not end; null otherwise",
            is_nullable=True,
        ),
    ),
)
QUESTION_PREDICTIONS = Stage(
    "question_predictions",
    "a question judged by a model under a scoring policy",
    ("question_id", "scoring_policy"),
    (
        QUESTION_ID,
        MODEL_ID,
        RELATION,
        SCORING_POLICY,
        Column(
            "prediction",
            pa.string(),
            "the answer that most repeats gave; null for no answer",
            is_nullable=True,
            pattern=_ANSWER,
        ),
        Column(
            "is_correct",
            pa.bool_(),
            "prediction equals the right answer; null where the policy excludes the question",
            is_nullable=True,
        ),
        Column("n_answers", pa.int16(), "repeats with an answer"),
        Column("n_agreeing", pa.int16(), "repeats that gave the prediction"),
        Column(
            "error",
            pa.string(),
            "why no repeat has a response, so that no policy grades the question; null if one has",
            is_nullable=True,
        ),
    ),
)
