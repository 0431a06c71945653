"""Read the predictions of models from the warehouse, about samples and about questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import duckdb

from pretexeval.reading import Form, convert_table, open_warehouse
from primitives.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

OF_SAMPLES = """
from prediction_details
where edition_id = $edition_id and scoring_policy = $scoring_policy
    and ($model is null or model = $model) and ($method is null or method = $method)
order by model, method, relation, pair_id, triplet_id, sample_id, repeat
"""
OF_QUESTIONS = """
from facet_details
where edition_id = $edition_id and scoring_policy = $scoring_policy
    and ($model is null or model = $model) and ($setting is null or setting = $setting)
order by model, setting, relation, point_id, question_id, repeat
"""
KNOWN_SAMPLES = "select distinct edition_id, model, method, scoring_policy from leaderboard order by all"
KNOWN_QUESTIONS = """
select distinct edition_id, models.name as model, setting, scoring_policy
from question_predictions
inner join models using (model_id)
order by all
"""


@overload
def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = ...,
    *,
    method: str | None = ...,
    scoring_policy: str = ...,
    form: Literal["polars"] = ...,
) -> "pl.DataFrame": ...
@overload
def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = ...,
    *,
    method: str | None = ...,
    scoring_policy: str = ...,
    form: Literal["arrow"],
) -> "pa.Table": ...
def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = None,
    *,
    method: str | None = None,
    scoring_policy: str = "strict",
    form: Form = "polars",
) -> "pl.DataFrame | pa.Table":
    """Return one row per model, repeat and test sample: the text, the answer, and whether it is correct.

    The columns are those of the view `prediction_details` (docs/warehouse.md): model, method, relation, head,
    tail, is_positive, transformation, text, label, prediction, is_correct, response, reasoning, error, …
    `is_correct` is null where the prompt failed, and where the scoring policy excludes the sample.

    Args:
        model: the name of one model; None: all of them.
        method: pretexeval, prototype, direct, llmeval or origin; None: all of them.
        scoring_policy: strict, coin-flip or excluded.

    Raises:
        InputError: there is no warehouse, or it has no such predictions; the message lists those that it has.
    """
    names = {"edition_id": edition_id, "model": model, "method": method, "scoring_policy": scoring_policy}
    table = _read(root, OF_SAMPLES, names, KNOWN_SAMPLES)
    return table if form == "arrow" else convert_table(table)


@overload
def load_question_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = ...,
    *,
    setting: str | None = ...,
    scoring_policy: str = ...,
    form: Literal["polars"] = ...,
) -> "pl.DataFrame": ...
@overload
def load_question_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = ...,
    *,
    setting: str | None = ...,
    scoring_policy: str = ...,
    form: Literal["arrow"],
) -> "pa.Table": ...
def load_question_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = None,
    *,
    setting: str | None = None,
    scoring_policy: str = "strict",
    form: Form = "polars",
) -> "pl.DataFrame | pa.Table":
    """Return one row per model, setting, test question and repeat: the question, the answers, and the grade.

    The columns are those of the view `facet_details` (docs/warehouse.md): model, setting, relation, head,
    facet, type, is_negated, text, options, answer, prediction, is_correct, repeat, repeat_answer, response, …
    `prediction` and `is_correct` are those of the question, so all its repeats have the same.

    Args:
        model: the name of one model; None: all of them.
        setting: answer_only or chain_of_thought; None: all of them.
        scoring_policy: strict, coin-flip or excluded.

    Raises:
        InputError: there is no warehouse, or it has no such predictions; the message lists those that it has.
    """
    names = {"edition_id": edition_id, "model": model, "setting": setting, "scoring_policy": scoring_policy}
    table = _read(root, OF_QUESTIONS, names, KNOWN_QUESTIONS)
    return table if form == "arrow" else convert_table(table)


def _read(root: str | Path, sql: str, names: dict[str, str | None], known: str) -> "pa.Table":
    """Return the rows of a query with these parameters.

    Args:
        known: the query that lists the values of the parameters for which there are rows.

    Raises:
        InputError: there are no rows.
    """
    with open_warehouse(root) as connection:
        table = connection.sql(sql, params=names).to_arrow_table()
        if not table.num_rows:
            raise InputError(_explain_missing(connection, names, known))
    return table


def _explain_missing(connection: duckdb.DuckDBPyConnection, names: dict[str, str | None], known: str) -> str:
    asked = ", ".join(f"{key} = {value!r}" for key, value in names.items() if value is not None)
    rows = connection.execute(known).fetchall()
    listed = "".join(f"\n  {' | '.join(map(str, row))}" for row in rows) or " none"
    return (
        f"the warehouse has no predictions with {asked}; it has ({', '.join(names)}):{listed}\n"
        "`pretexeval publish` loads what was evaluated since"
    )
