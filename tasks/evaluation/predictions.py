"""Stages readings and predictions: what responses answer, and whether it is right (method, 3 and 5)."""

from functools import cache
from pathlib import Path

import polars as pl

from pretexeval.engines import thoughts
from pretexeval.primitives.hashing import hash_files, hash_text
from schemas.question_stages import LETTERS
from schemas.stages import PREDICTIONS, READINGS
from tasks import answers as reader
from tasks.answers.segments import cut_completion
from tasks.asking import reasoning
from tasks.evaluation.items import ItemKind

PREDICTIONS_VERSION = 5
"""Count it up when this module gives other rows for the same arguments and readings."""
NEVER_ASKED = "the prompt was never asked"


@cache
def hash_reader() -> str:
    """Return a hash of the code and the words that find the end and the answer of a reply (32 hex digits).

    With another hash, stored answers are read again, so that all scores in a warehouse are read in one way.
    """
    folder = Path(reader.__file__).parent
    modules = (Path(str(module.__file__)) for module in (thoughts, reasoning))
    return hash_files([*folder.glob("*.py"), *folder.glob("*.toml"), *modules], digits=32)


def read_responses(
    kind: ItemKind,
    requests: pl.DataFrame,
    items: pl.DataFrame,
    answers: pl.DataFrame,
    *,
    is_reasoned: bool,
) -> pl.DataFrame:
    """Return one row per request: what was read in the response to it.

    Args:
        items: the items that the requests are about, and perhaps others.
        answers: columns prompt_key and repeat, and those of `read_answers`; failed prompts have a null
            response.
        is_reasoned: whether the model reasons before it answers: then all lines of a completion are read.
    """
    has_failed = pl.col("response").is_null() & ~pl.col("is_refused").fill_null(False)
    error = pl.when(has_failed).then(pl.coalesce("error", pl.lit(NEVER_ASKED)))
    reasons = ("is_unfinished_reasoning", "is_refused")
    asked = (
        requests.drop("weight")
        .join(
            answers.rename({"answer": "said"}), on=["prompt_key", "repeat"], how="left", maintain_order="left"
        )
        .join(items.drop("relation"), on="item_id", how="left", maintain_order="left")
        .with_columns(pl.when(name).then(True).alias(name) for name in reasons)
        .with_columns(error=error)
    )
    if not is_reasoned and (requests["prompt_style"] == "completion").any():
        cut = {text: cut_completion(text) for text in asked["said"].unique()}
        asked = asked.with_columns(pl.col("said").replace_strict(cut, return_dtype=pl.String))
    readings = kind.read_texts(asked)
    return asked.with_columns(
        answer=pl.Series([reading.answer for reading in readings], dtype=pl.String),
        rule=pl.Series([reading.rule for reading in readings], dtype=pl.String),
    ).select(READINGS.names)


def score_readings(
    kind: ItemKind, readings: pl.DataFrame, items: pl.DataFrame, policies: tuple[str, ...] = ("strict",)
) -> pl.DataFrame:
    """Return one row per policy and item, and per repeat if these do not vote.

    No answer, such as a refusal, is a null prediction under every policy. It is wrong under `strict`, not
    graded under `excluded`, and replaced by a guess under `coin-flip` (as the papers do; seeded by item,
    model and repeat). If every repeat failed, there is no answer: no policy grades the row, and it has the
    error. The answer Unsure is wrong, also under `coin-flip`, which guesses only where there is no answer;
    under `excluded` it is not graded.
    """
    voted = _count_votes(readings, ["item_id"] if kind.has_votes else ["item_id", "repeat"])
    right = items.select("item_id", "type", "options", right="answer")
    graded = voted.join(right, on="item_id", how="left", maintain_order="left").with_columns(
        is_right=pl.col("prediction") == pl.col("right")
    )
    return pl.concat(_apply_policy(graded, policy) for policy in policies)


def _count_votes(readings: pl.DataFrame, voters: list[str]) -> pl.DataFrame:
    """Return one row per group of voters with the answer that most of them gave, the earliest in a tie."""
    votes = (
        readings.drop_nulls("answer")
        .group_by(*voters, "answer", maintain_order=True)
        .agg(n_agreeing=pl.len().cast(pl.Int16))
        .sort("n_agreeing", descending=True, maintain_order=True)
        .unique(voters, keep="first", maintain_order=True)
        .rename({"answer": "prediction"})
    )
    repeat = [pl.lit(0, pl.Int16).alias("repeat")] if "repeat" not in voters else []
    return (
        readings.group_by(voters, maintain_order=True)
        .agg(
            pl.col("model_id", "relation").first(),
            *repeat,
            n_answers=pl.col("answer").count().cast(pl.Int16),
            error=pl.when(pl.col("error").is_not_null().all()).then(pl.col("error").first()),
        )
        .join(votes, on=voters, how="left", maintain_order="left")
        .with_columns(pl.col("n_agreeing").fill_null(0))
    )


def _apply_policy(graded: pl.DataFrame, policy: str) -> pl.DataFrame:
    is_correct = pl.col("is_right")
    if policy == "strict":
        is_correct = is_correct.fill_null(False)
    elif policy == "excluded":
        is_correct = pl.when(pl.col("prediction") != "U").then(is_correct)
    elif policy == "coin-flip":
        open_items = graded.filter(pl.col("prediction").is_null())
        columns = ("right", "item_id", "model_id", "repeat", "type", "options")
        guesses = [_guess(*item) == right for right, *item in open_items.select(columns).iter_rows()]
        guessed = open_items.select("item_id", "repeat").with_columns(
            is_guess_right=pl.Series(guesses, dtype=pl.Boolean)
        )
        graded = graded.join(guessed, on=["item_id", "repeat"], how="left", maintain_order="left")
        is_correct = pl.coalesce("is_right", "is_guess_right")
    return graded.with_columns(
        scoring_policy=pl.lit(policy), is_correct=pl.when(pl.col("error").is_null()).then(is_correct)
    ).select(PREDICTIONS.names)


def _guess(item_id: str, model_id: str, repeat: int, type_: str, options: list[str]) -> str | None:
    """Return an answer seeded by item, model and repeat, as the authors fill in at random; none to an MAQ."""
    if type_ == "MAQ":
        return None
    number = int(hash_text("guess", item_id, model_id, str(repeat)), 16)
    judgement, number = "TF"[number % 2], number // 2
    if type_ in ("TFQ", "TFU"):
        return judgement
    letter = LETTERS[number % len(options)]
    return letter if type_ == "MCQ" else f"{judgement}|{letter}"
