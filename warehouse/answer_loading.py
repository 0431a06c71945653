"""Load what models answered to the samples or the questions of an edition."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from pretexeval.config.schedule import find_first_day
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import RUN, model_file, responses_folder
from schemas.stages import PREDICTIONS, READINGS, REQUESTS
from warehouse.checks import insert_reports
from warehouse.parts import Part
from warehouse.records import (
    REBUILD,
    RESTORE,
    RecordMissing,
    check_files,
    check_rows,
    find_files,
    insert_parquet,
    parse_time,
    read_price,
    require_record,
)

logger = logging.getLogger(__name__)

# A prompt that had failed when the answers were scored counts as failed until they are scored again.
READ = """
with answers as (
    select
        * exclude (prompt_number, error)
    from storage.responses
    where model_id = $model_id
),

read as (
    select
        readings.* exclude (is_unfinished_reasoning, is_refused),
        coalesce(readings.is_unfinished_reasoning, false) as is_unfinished_reasoning,
        coalesce(readings.is_refused, false) as is_refused,
        requests.n_demonstrations_dropped,
        answers.response,
        answers.logprob_true,
        answers.logprob_false,
        coalesce(
            answers.reasoning,
            nullif(trim(substring(
                answers.response, readings.thought_start + 1, readings.thought_end - readings.thought_start
            )), '')
        ) as reasoning
    from storage.read_files($readings) as readings
    left join answers
        on
            readings.prompt_key = answers.prompt_key
            and readings.repeat = answers.repeat
            and readings.error is null
    left join storage.read_files($requests) as requests
        on readings.item_id = requests.item_id and readings.repeat = requests.repeat
)
"""
"""The requests of a run with what was read in the responses, and what the model thought (reasoning)."""
# The log-probabilities are those of the first token. If the model thought first, they say nothing.
INSERT_PREDICTIONS = f"""
insert into {{table}} by name
{READ}
select
    {{key}},
    predictions.item_id as sample_id,
    predictions.repeat,
    predictions.scoring_policy,
    read.prompt_key,
    read.n_demonstrations_dropped,
    {{answer}},
    case
        when predictions.item_id not in (
            select sample_id from samples semi join storage.undecided_pairs using (edition_id, pair_id)
            where edition_id = $edition_id
        ) then predictions.is_correct
    end as is_correct,
    read.is_unfinished_reasoning,
    read.is_refused,
    read.response,
    read.reasoning,
    read.error,
    case when read.reasoning is null and not read.is_unfinished_reasoning then read.logprob_true end
        as logprob_true,
    case when read.reasoning is null and not read.is_unfinished_reasoning then read.logprob_false end
        as logprob_false
from storage.read_files($predictions) as predictions
inner join read using (item_id, repeat)
order by predictions.scoring_policy, predictions.repeat, predictions.relation, predictions.item_id
"""
INSERT_ANSWERS = f"""
insert into question_answers by name
{READ}
select
    {{key}},
    item_id as question_id,
    repeat,
    prompt_key,
    answer,
    rule,
    error,
    is_unfinished_reasoning,
    is_refused,
    n_demonstrations_dropped,
    response,
    reasoning
from read
order by relation, item_id, repeat
"""
INSERT_QUESTION_PREDICTIONS = """
insert into question_predictions by name
select
    {key},
    item_id as question_id,
    scoring_policy,
    prediction,
    is_correct,
    n_answers,
    n_agreeing,
    error
from storage.read_files($predictions)
order by scoring_policy, relation, item_id
"""
INSERT_RUN = """
insert into runs by name
select
    {key},
    count(distinct item_id) as n_items,
    max(repeat) + 1 as n_repeats,
    min(prompt_style) as prompt_style,
    min(sampling) as sampling,
    {values}
from storage.read_files($requests)
"""
RUNS = {
    "run": "predictions",
    "question_run": "question_answers",
    "unsure_run": "unsure_predictions",
    "anchor_run": "anchor_predictions",
}
"""Kind of part -> the table with one row per answer of such an evaluation."""
# A sample has two answers, or three (unsure_predictions).
TWO_ANSWERS, THREE_ANSWERS = "predictions.prediction = 'T' as prediction", "predictions.prediction as answer"
KEY = ("edition_id", "setting", "period", "model_id")


def load_run(connection: duckdb.DuckDBPyConnection, part: Part) -> None:
    """Insert one row of runs, and what a model answered to one edition.

    Raises:
        RecordMissing: the record of the run or of the model is missing.
        InputError: a file is not as the record lists it, or an answer that was scored is lost.
    """
    folder, key = part.path, {name: value for name in KEY if (value := part.key[name]) is not None}
    run = require_record(folder / RUN, edition_id=key["edition_id"], model_id=key["model_id"])
    require_model(connection, folder)
    check_files(folder, run, RUN)
    files = {
        stage.name: (stage, find_files(folder, run, stage)) for stage in (REQUESTS, READINGS, PREDICTIONS)
    }
    selected = ", ".join(f"${name} as {name}" for name in key)

    def insert(statement: str, *stages: str, **values: object) -> int:
        read = {name: files[name] for name in stages}
        return insert_parquet(connection, statement, read, remedy=REBUILD, **key, **values)

    table = RUNS[part.kind]
    if part.kind == "question_run":
        n_readings = insert(INSERT_ANSWERS.format(key=selected), "requests", "readings")
        check_rows(folder, run, READINGS, n_readings)
        n_rows = insert(INSERT_QUESTION_PREDICTIONS.format(key=selected), "predictions")
    else:
        answer = THREE_ANSWERS if part.kind == "unsure_run" else TWO_ANSWERS
        statement = INSERT_PREDICTIONS.format(table=table, key=selected, answer=answer)
        n_rows = insert(statement, "requests", "readings", "predictions")
    check_rows(folder, run, PREDICTIONS, n_rows)
    values = _describe_run(folder, run, key)
    described = ", ".join(f"${name} as {name}" for name in values)
    insert(INSERT_RUN.format(key=selected, values=described), "requests", **values)
    require_answers(connection, table, folder, run, key)
    if part.kind != "anchor_run":
        insert_reports(connection, "run_checks", key, run["checks"])


def _describe_run(folder: Path, run: dict[str, Any], key: dict[str, str]) -> dict[str, object]:
    """Return the columns of runs that its record gives."""
    recorded = ("scoring_policies", "n_asked", "n_reused", "n_errors", "duration_s", "max_error_rate")
    price = dict(zip(("price_input", "price_output", "price_currency"), read_price(run), strict=True))
    return {
        **{name: run[name] for name in (*recorded, "served", "n_demonstrations")},
        **price,
        "remarks": run.get("remarks", []),
        "finished_at": parse_time(folder / RUN, run, "finished_at"),
        "period_start": find_first_day(key["period"]) if "period" in key else None,
    }


def require_answers(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    folder: Path,
    run: Mapping[str, Any],
    key: dict[str, str],
) -> None:
    """Check that the response store has every answer that was scored.

    Args:
        table: with the answers of the run in this folder.
        key: the columns that identify the run, with their values.

    Raises:
        InputError: answers are missing, because a file of responses was lost or changed.
    """
    responses = folder.parents[len(key)] / responses_folder(folder.name)
    lost = [str(responses / name) for name in run["responses"] if not (responses / name).is_file()]
    if not lost:
        return
    where = " and ".join(f"rows.{name} = ${name}" for name in key)
    (n_lost,) = connection.execute(
        f"select count(*) from {table} as rows "
        "anti join storage.responses using (model_id, prompt_key, repeat) "
        f"where {where} and rows.error is null",
        key,
    ).fetchone() or (0,)
    if n_lost:
        raise InputError(
            f"{folder}: {n_lost:,} of its answers are lost, because a file of responses was lost or changed: "
            f"{', '.join(lost)}; {RESTORE}"
        )


def warn_of_lost_replies(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Log which writers lack replies behind the attempts of an edition, because a file of them was lost.

    The texts themselves are in the stage attempts, so nothing is left out of the warehouse.
    """
    lost = connection.execute(
        "with replies as (select model_id, prompt_key from storage.responses) "
        "select rephraser, count(distinct prompt_key) "
        "from (select rephraser, rephraser as model_id, prompt_key from attempts) "
        "semi join models using (model_id) anti join replies using (model_id, prompt_key) "
        "group by rephraser order by rephraser"
    ).fetchall()
    for model_id, n_lost in lost:
        logger.warning(
            "%s: %s replies behind attempts of editions are lost, because a file of them was lost; the texts "
            "are kept in the editions. If you have a backup, restore the file",
            root / responses_folder(model_id),
            f"{n_lost:,}",
        )


def require_model(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Raise RecordMissing if the model of the run in this folder is not loaded."""
    model_id = folder.name
    if not connection.execute("from models where model_id = ?", [model_id]).fetchone():
        raise RecordMissing(
            f"{model_file(model_id)}, which describes a model, is missing, so its evaluations are left out; "
            f"{REBUILD}"
        )
