"""Stages question_readings and question_predictions: answers to questions, read, counted and scored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.primitives.hashing import hash_text
from schemas.question_stages import LETTERS, QUESTION_PREDICTIONS, QUESTION_READINGS
from tasks.answers.reading import NOTHING, Reading, read_answer, vote
from tasks.asking.answer_extraction import cut_completion
from tasks.evaluation.predictions import NEVER_ASKED, Scoring

Row = Mapping[str, object]


QUESTION_PREDICTIONS_VERSION = 1
"""Count it up when the scorer gives other predictions for the same arguments."""


@dataclass(frozen=True)
class QuestionScorer:
    """Reads and scores the answers of one setting."""

    is_reasoned: bool = False
    """Whether the model reasons before it answers: then all lines of a completion are read."""

    def __call__(
        self,
        requests: pl.DataFrame,
        read_questions: Callable[[], pl.DataFrame],
        answers: pl.DataFrame,
        scoring: Scoring,
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return one row per request with what was read, and one per question and policy.

        Args:
            read_questions: reads the questions of the relation.
            answers: columns prompt_key, repeat, response, error, answer and is_unfinished_reasoning, from
                `read_answers`; failed prompts have a null response.
        """
        asked = read_questions().select("question_id", "type", "text", "options", "offered", right="answer")
        joined = requests.join(answers, on=["prompt_key", "repeat"], how="left", maintain_order="left").join(
            asked, on="question_id", how="left", maintain_order="left"
        )
        error = pl.when(pl.col("response").is_null()).then(pl.coalesce("error", pl.lit(NEVER_ASKED)))
        is_unfinished = pl.when("is_unfinished_reasoning").then(True)
        joined = joined.with_columns(error.alias("error"), is_unfinished.alias("is_unfinished_reasoning"))
        readings = [self._read(row) for row in joined.iter_rows(named=True)]
        read = joined.with_columns(
            pl.Series("answer", [reading.answer for reading in readings], pl.String),
            pl.Series("rule", [reading.rule for reading in readings], pl.String),
        )
        return read.select(QUESTION_READINGS.names), _score(read, readings, scoring.policies)

    def _read(self, row: Row) -> Reading:
        text = row["answer"]
        if not isinstance(text, str):
            return NOTHING
        is_cut = row["prompt_style"] == "completion" and not self.is_reasoned
        options, offered = row["options"], row["offered"]
        return read_answer(
            str(row["type"]),
            cut_completion(text) if is_cut else text,
            tuple(options) if isinstance(options, list) else (),
            offered if isinstance(offered, str) else None,
            str(row["text"]),
        )


def _score(read: pl.DataFrame, readings: Sequence[Reading], policies: Sequence[str]) -> pl.DataFrame:
    """Return one row per question and policy. The repeats of a question vote."""
    by_question: dict[str, list[int]] = {}
    for place, question_id in enumerate(read["question_id"]):
        by_question.setdefault(question_id, []).append(place)
    rows = read.rows(named=True)
    found = []
    for places in by_question.values():
        first = rows[places[0]]
        given = [readings[place] for place in places]
        prediction = vote(given).answer
        said = [reading.answer for reading in given if reading.answer is not None]
        errors = [rows[place]["error"] for place in places]
        error = errors[0] if all(errors) else None
        counted = {
            "question_id": first["question_id"],
            "model_id": first["model_id"],
            "relation": first["relation"],
            "prediction": prediction,
            "n_answers": len(said),
            "n_agreeing": sum(answer == prediction for answer in said),
            "error": error,
        }
        for policy in policies:
            is_correct = None if error else _judge(first, prediction, policy)
            found.append(counted | {"scoring_policy": policy, "is_correct": is_correct})
    schema = pl.DataFrame(QUESTION_PREDICTIONS.schema.empty_table()).schema
    return pl.DataFrame(found, schema).select(QUESTION_PREDICTIONS.names)


def _judge(row: Row, prediction: str | None, policy: str) -> bool | None:
    """Return whether the prediction is right; no answer is wrong, guessed, or not graded by the policy."""
    if prediction is not None:
        return prediction == row["right"]
    if policy == "coin-flip":
        return _guess(row) == row["right"]
    return False if policy == "strict" else None


def _guess(row: Row) -> str | None:
    """Return an answer seeded by question and model, as the authors fill in at random; none to an MAQ."""
    if row["type"] == "MAQ":
        return None
    number = int(hash_text("guess", str(row["question_id"]), str(row["model_id"])), 16)
    judgement, number = "TF"[number % 2], number // 2
    if row["type"] == "TFQ":
        return judgement
    options = row["options"]
    letter = LETTERS[number % len(options)] if isinstance(options, list) else ""
    return letter if row["type"] == "MCQ" else f"{judgement}|{letter}"
