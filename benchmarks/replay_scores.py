"""The replayed scores beside the published ones: the expected random fill, and mastered points."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.replay_draws import measure_draws
from benchmarks.replay_edition import AUTHORS, SETTINGS

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
    n_tied: int
    """Questions whose repeats give several answers equally often."""
    expected_draw: float
    """What drawing missing answers and ties at random adds to the strict score, on average."""
    own_sd: float
    """Standard deviation of these draws."""
    n_other_readings: int
    """Questions whose answer this project reads differently from the prediction of the authors."""
    effect: float
    """What these readings add to our score, compared with those of the authors."""

    @property
    def expected(self) -> float | None:
        """The strict score plus what the random draws add on average."""
        return None if self.strict is None else self.strict + self.expected_draw

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
            **measure_draws(row["type"], rows),
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
