"""Stage predictions: responses read as true, false or no answer, and scored (method, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from primitives.hashing import hash_text
from schemas.stages import PREDICTIONS
from tasks.asking.answer_extraction import PAPERS_WORDS, AnswerWords, cut_completion, extract_answer


@dataclass(frozen=True)
class Scoring:
    """How responses are read, and how no answer is scored."""

    policies: tuple[str, ...] = ("strict",)
    words: AnswerWords = PAPERS_WORDS


STRICT = Scoring()
NEVER_ASKED = "the prompt was never asked"


def score_responses(
    requests: pl.DataFrame, responses: pl.DataFrame, scoring: Scoring = STRICT
) -> pl.DataFrame:
    """Return one row per request and policy: the prediction, and whether it equals the label.

    No answer is a null prediction under every policy. It is wrong under `strict`, not graded under
    `excluded`, and decided by a coin under `coin-flip` (as in the papers; seeded by sample and model).
    A failed prompt is not an answer: no policy grades it, and its row has the error.

    Args:
        responses: columns prompt_key, repeat, response and error; failed prompts have a null response.
    """
    read = _read_responses(requests, responses, scoring.words)
    graded = read.with_columns((pl.col("prediction") == pl.col("label")).alias("is_right"))
    return pl.concat(_apply_policy(graded, policy) for policy in scoring.policies)


def _read_responses(requests: pl.DataFrame, responses: pl.DataFrame, words: AnswerWords) -> pl.DataFrame:
    is_chat = (requests["prompt_style"] == "chat").any()
    answers = {
        text: extract_answer(text if is_chat else cut_completion(text), words)
        for text in responses["response"].unique()
    }
    prediction = pl.col("response").replace_strict(answers, default=None, return_dtype=pl.Boolean)
    error = pl.when(pl.col("response").is_null()).then(pl.coalesce("error", pl.lit(NEVER_ASKED)))
    return requests.join(
        responses, on=["prompt_key", "repeat"], how="left", maintain_order="left"
    ).with_columns(prediction.alias("prediction"), error.alias("error"))


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
