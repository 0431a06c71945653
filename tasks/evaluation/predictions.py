"""Stage predictions: responses read as true, false or no answer, and scored (method, section 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.primitives.hashing import hash_text
from schemas.stages import PREDICTIONS
from tasks.asking.answer_extraction import PAPERS_WORDS, AnswerWords, cut_completion, extract_answer
from tasks.asking.thoughts import THINK_MARKS, ReasoningMarks


@dataclass(frozen=True)
class Scoring:
    """How responses are read, and how no answer is scored."""

    policies: tuple[str, ...] = ("strict",)
    words: AnswerWords = PAPERS_WORDS
    marks: ReasoningMarks = THINK_MARKS


STRICT = Scoring()
NEVER_ASKED = "the prompt was never asked"


PREDICTIONS_VERSION = 1
"""Count it up when the function gives other predictions for the same arguments."""


def score_samples(
    requests: pl.DataFrame, _: Callable[[], pl.DataFrame], answers: pl.DataFrame, scoring: Scoring
) -> tuple[pl.DataFrame]:
    """Return the predictions of one relation; the requests hold all that is needed of the samples."""
    return (score_responses(requests, answers, scoring),)


def score_responses(requests: pl.DataFrame, answers: pl.DataFrame, scoring: Scoring = STRICT) -> pl.DataFrame:
    """Return one row per request and policy: the prediction, and whether it equals the label.

    No answer is a null prediction under every policy. It is wrong under `strict`, not graded under
    `excluded`, and decided by a coin under `coin-flip` (as in the papers; seeded by sample and model).
    A failed prompt is not an answer: no policy grades it, and its row has the error.

    Args:
        answers: columns prompt_key, repeat, response, error, answer and is_unfinished_reasoning, from
            `read_answers`; failed prompts have a null response.
    """
    read = _read_answers(requests, answers, scoring.words)
    graded = read.with_columns((pl.col("prediction") == pl.col("label")).alias("is_right"))
    return pl.concat(_apply_policy(graded, policy) for policy in scoring.policies)


def _read_answers(requests: pl.DataFrame, answers: pl.DataFrame, words: AnswerWords) -> pl.DataFrame:
    is_chat = (requests["prompt_style"] == "chat").any()
    predictions = {
        text: extract_answer(text if is_chat else cut_completion(text), words)
        for text in answers["answer"].unique()
    }
    prediction = pl.col("answer").replace_strict(predictions, default=None, return_dtype=pl.Boolean)
    error = pl.when(pl.col("response").is_null()).then(pl.coalesce("error", pl.lit(NEVER_ASKED)))
    is_unfinished = pl.when("is_unfinished_reasoning").then(True)
    return requests.join(
        answers, on=["prompt_key", "repeat"], how="left", maintain_order="left"
    ).with_columns(
        prediction.alias("prediction"),
        error.alias("error"),
        is_unfinished.alias("is_unfinished_reasoning"),
    )


def _apply_policy(graded: pl.DataFrame, policy: str) -> pl.DataFrame:
    if policy == "strict":
        is_correct = pl.col("is_right").fill_null(False)
    elif policy == "coin-flip":
        is_correct = pl.coalesce("is_right", _flip_coins(graded.select("sample_id", "model_id", "repeat")))
    else:
        is_correct = pl.col("is_right")
    scored = pl.when(pl.col("error").is_null()).then(is_correct)
    return graded.with_columns(pl.lit(policy).alias("scoring_policy"), scored.alias("is_correct")).select(
        PREDICTIONS.names
    )


def _flip_coins(rows: pl.DataFrame) -> pl.Series:
    coins: Sequence[bool] = [
        int(hash_text("coin", sample_id, model_id, str(repeat)), 16) % 2 == 1
        for sample_id, model_id, repeat in rows.iter_rows()
    ]
    return pl.Series("coin", coins, pl.Boolean)
