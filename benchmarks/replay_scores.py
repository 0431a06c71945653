"""The replayed scores beside the published ones: the expected random fill, and mastered points."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks.replay_edition import AUTHORS, SETTINGS
from tasks.answers.reading import Reading, read_answer
from tasks.answers.vote import vote

N_OPTIONS = 5
N_SD = 3
"""The published scores are another draw of the random fill, so they should be within so many deviations."""
ROUNDING = 0.05
"""Half of the last digit of the published scores."""
ACCURACY = """
select 100 * accuracy
from facet_accuracy
where scoring_policy = 'strict' and is_negated is null and setting = $setting and model = $model
    and type = $type
"""
PREDICTIONS = """
select
    question_id,
    questions.answer as right_answer,
    questions.offered,
    questions.options,
    questions.text,
    ours.prediction,
    theirs.prediction as authors_prediction,
    list(answers.response order by answers.repeat) as responses
from question_predictions as ours
inner join models using (model_id)
inner join questions using (edition_id, question_id)
inner join question_answers as answers using (edition_id, setting, model_id, question_id)
left join (
    select setting, question_id, prediction
    from question_predictions
    inner join models using (model_id)
    where models.name = $model || $suffix and scoring_policy = 'strict'
) as theirs using (setting, question_id)
where ours.scoring_policy = 'strict' and setting = $setting and models.name = $model and type = $type
group by all
order by question_id
"""
MASTERED = """
select list(n_mastered order by step)
from mastered_points
where scoring_policy = 'strict' and is_paper_order and setting = $setting and model = $model
    and is_negated_included = $negated
"""


@dataclass(frozen=True)
class ReplayedScore:
    """A score of the paper's Table 1 beside ours, in percent; null where nothing was published."""

    setting: str
    model: str
    type: str
    published: float
    from_processed: float | None
    sd_of_fill: float | None
    replayed: float | None
    """The accuracy that our views compute from the predictions of the authors."""
    strict: float | None
    """The accuracy that our views compute from the raw responses, as this project reads them."""
    n_no_answer: int
    expected_fill: float
    own_sd: float
    """Standard deviation of the random fill of the questions without an answer."""
    n_other_readings: int
    """Questions whose answer this project reads differently from the prediction of the authors."""
    effect: float
    """What these readings add to our score, compared with those of the authors."""

    @property
    def expected(self) -> float | None:
        """The strict score plus the expected random fill."""
        return None if self.strict is None else self.strict + self.expected_fill

    @property
    def is_exact(self) -> bool:
        """Whether the views give the score of the authors' predictions, of which 4 decimals are published."""
        same = self.replayed is not None and self.from_processed is not None
        return same and abs(self.replayed - self.from_processed) < 1e-4  # type: ignore[operator]

    @property
    def is_within(self) -> bool | None:
        """Whether the published score is within three deviations of the expected one; null without it."""
        if self.expected is None:
            return None
        sd = self.own_sd if self.sd_of_fill is None else self.sd_of_fill
        return abs(self.published - self.expected) <= N_SD * sd + ROUNDING


def list_scores(connection: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[ReplayedScore]:
    """Yield the scores of the models that were imported, in the order of the published file."""
    names = {name for (name,) in connection.execute("select name from models").fetchall()}
    for row in pl.read_csv(folder / "multifacet_scores.csv").iter_rows(named=True):
        if row["model"] not in names:
            continue
        key = {"setting": SETTINGS[row["setting"]], "model": row["model"], "type": row["type"]}
        rows = _query(connection, PREDICTIONS, {**key, "suffix": AUTHORS})
        authors = {**key, "model": row["model"] + AUTHORS}
        yield ReplayedScore(
            **key,
            published=row["published"],
            from_processed=row["from_processed"],
            sd_of_fill=row["sd_of_fill"],
            replayed=_read_accuracy(connection, authors),
            strict=_read_accuracy(connection, key),
            **measure_fill(row["type"], rows),
        )


def _query(
    connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, str]
) -> list[dict[str, object]]:
    found = connection.execute(sql, values)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _read_accuracy(connection: duckdb.DuckDBPyConnection, key: dict[str, str]) -> float | None:
    found = connection.execute(ACCURACY, key).fetchone()
    return None if found is None else float(found[0])


def measure_fill(kind: str, rows: list[dict[str, object]]) -> dict[str, Any]:
    """Return the fields of a replayed score about questions without an answer and other readings."""
    weights = _weigh(kind, rows)
    fill = variance = effect = 0.0
    n_none = n_other = 0
    for row, weight in zip(rows, weights, strict=True):
        right, prediction, theirs = row["right_answer"], row["prediction"], row["authors_prediction"]
        if prediction is None:
            n_none += 1
            chance = expect_fill(kind, _read_fragment(kind, row), str(right))
            fill += weight * chance
            variance += weight**2 * chance * (1 - chance)
        elif prediction != theirs:
            n_other += 1
            effect += weight * ((prediction == right) - (theirs == right))
    return {
        "n_no_answer": n_none,
        "expected_fill": 100 * fill,
        "own_sd": 100 * sqrt(variance),
        "n_other_readings": n_other,
        "effect": 100 * effect,
    }


def _weigh(kind: str, rows: list[dict[str, object]]) -> list[float]:
    """Return what a right answer to each question adds to the score: 1/n, or its part of the debiased one."""
    if kind != "RQ":
        return [1 / len(rows) for _ in rows]
    is_right = [str(row["right_answer"]).startswith("T") for row in rows]
    n_right = sum(is_right)
    n_wrong = len(rows) - n_right
    return [1 / N_OPTIONS / n_right if right else (N_OPTIONS - 1) / N_OPTIONS / n_wrong for right in is_right]


def _read_fragment(kind: str, row: dict[str, object]) -> str | None:
    """Return the half of an RQ that the responses hold; answers to other questions are no halves."""
    readings: list[Reading] = [
        read_answer(kind, response, row["options"] or (), row["offered"], row["text"])  # type: ignore[arg-type]
        for response in row["responses"]  # type: ignore[attr-defined]
        if response is not None
    ]
    fragment = vote(readings).fragment if readings else None
    return fragment if fragment is not None and "?" in fragment else None


def expect_fill(kind: str, fragment: str | None, right: str) -> float:
    """Return the probability that a random fill of what is missing gives the right answer.

    The authors draw a letter (MCQ), a judgement (TFQ), and the missing halves of an RQ; an MAQ stays wrong.
    An RQ that is judged true names the offered option, and one that is judged false one of the others.
    """
    if kind == "MAQ":
        return 0.0
    if kind != "RQ":
        return 1 / N_OPTIONS if kind == "MCQ" else 1 / 2
    judgement, letter = (fragment or "?|?").split("|")
    right_judgement, right_letter = right.split("|")
    of_judgement = 1 / 2 if judgement == "?" else float(judgement == right_judgement)
    if letter != "?":
        return of_judgement * (letter == right_letter)
    return of_judgement * (1 if right_judgement == "T" else 1 / (N_OPTIONS - 1))


def list_mastered(
    connection: duckdb.DuckDBPyConnection, folder: Path
) -> Iterator[tuple[str, str, bool, list[int | None], list[int | None]]]:
    """Yield (setting, model, is_negated_included, ours, published) from the predictions of the authors."""
    names = {name for (name,) in connection.execute("select name from models").fetchall()}
    published = pl.read_csv(folder / "multifacet_mastered.csv").filter(align="id")
    steps = ("comparison", "verification", "rectification", "discrimination")
    for row in published.iter_rows(named=True):
        if row["model"] not in names:
            continue
        key = {"setting": SETTINGS[row["setting"]], "model": row["model"] + AUTHORS}
        is_negated = row["negated_questions"] == "yes"
        found = connection.execute(MASTERED, {**key, "negated": is_negated}).fetchone()
        ours = found[0] if found and found[0] else []
        yield key["setting"], row["model"], is_negated, ours, [row[step] for step in steps]
