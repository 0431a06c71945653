"""Load what a model answered to the samples, the questions or the anchors of an edition."""

from pathlib import Path
from typing import Any

import duckdb

from pretexeval.config.schedule import find_first_day
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import escape_pattern
from pretexeval.storage.layout import RUN, responses_folder
from schemas.stages import PREDICTIONS, READINGS, REQUESTS
from warehouse.catalogue import insert_rows
from warehouse.checks import insert_reports
from warehouse.records import RESTORE, parse_time, read_price
from warehouse.sources import Evaluation

# A prompt that had failed when the answers were scored counts as failed until they are scored again. The
# log-probabilities are those of the first token: if the model thought first, they say nothing. All repeats of
# a question vote, so that each of them has the prediction of the question.
INSERT_ANSWERS = """
insert into answers by name
with replies as (
    select prompt_key, repeat, response, reasoning, logprob_true, logprob_false
    from storage.responses
    where model_id = $model_id
),

read as (
    select
        readings.* exclude (is_unfinished_reasoning, is_refused),
        coalesce(readings.is_unfinished_reasoning, false) as is_unfinished_reasoning,
        coalesce(readings.is_refused, false) as is_refused,
        requests.n_demonstrations_dropped,
        requests.weight,
        replies.response,
        replies.logprob_true,
        replies.logprob_false,
        coalesce(replies.reasoning, nullif(trim(substring(
            replies.response, readings.thought_start + 1, readings.thought_end - readings.thought_start
        )), '')) as reasoning
    from storage.read_files($readings) as readings
    left join replies
        on
            readings.prompt_key = replies.prompt_key
            and readings.repeat = replies.repeat
            and readings.error is null
    left join storage.read_files($requests) as requests
        on readings.item_id = requests.item_id and readings.repeat = requests.repeat
)

select
    $edition_id as edition_id,
    $kind as kind,
    $setting as setting,
    $period as period,
    $model_id as model_id,
    item_id,
    read.repeat,
    predictions.scoring_policy,
    read.prompt_key,
    read.n_demonstrations_dropped,
    read.weight,
    read.answer,
    read.rule,
    predictions.prediction,
    predictions.is_correct,
    predictions.n_answers,
    predictions.n_agreeing,
    predictions.error is not null as is_failed,
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
inner join read using (item_id)
where $kind = 'questions' or predictions.repeat = read.repeat
"""
DESCRIBE_RUN = """
with asked as (
    select
        count(distinct item_id) as n_items, max(repeat) + 1 as n_repeats,
        count(*) - (select count(*) from storage.read_files($readings)) as n_not_needed,
        min(prompt_style) as prompt_style, min(sampling) as sampling
    from storage.read_files($requests)
),

predicted as (
    select error, count(*) as n
    from storage.read_files($predictions)
    where scoring_policy = $policy
    group by error
),

counted as (
    select
        coalesce(sum(n), 0)::bigint as n_predictions,
        coalesce(sum(n) filter (error is not null), 0)::bigint as n_errors,
        first(error order by n desc, error) filter (error is not null) as commonest_error
    from predicted
),

used as (
    select
        count(*) as n_prompts, count(*) - count(n_prompt_tokens) as n_unknown,
        coalesce(sum(n_prompt_tokens), 0)::bigint as n_prompt_tokens,
        coalesce(sum(n_completion_tokens), 0)::bigint as n_completion_tokens
    from (select distinct prompt_key, repeat from storage.read_files($readings))
    left join (from storage.responses where model_id = $model_id) using (prompt_key, repeat)
)

from asked, counted, used
"""
COUNT_LOST = """
select count(*)
from storage.read_files($readings) as readings
anti join (from storage.responses where model_id = $model_id) as responses using (prompt_key, repeat)
where readings.error is null
"""
KEY = ("edition_id", "kind", "setting", "period", "model_id")


class UnsoundRows(Exception):
    """Files do not fit each other, which was noticed after some of their rows had been inserted."""

    def __init__(self, path: Path, problem: str) -> None:
        """Make an error about one of the files."""
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


def load_evaluation(connection: duckdb.DuckDBPyConnection, evaluation: Evaluation) -> None:
    """Insert one row of runs, and what a model answered to one edition.

    Raises:
        InputError: its record has a value that does not fit, or an answer that was scored is lost.
        UnsoundRows: its readings or its requests do not fit its predictions.
    """
    files = {
        stage.name: [escape_pattern(path) for path in evaluation.list_files(stage)]
        for stage in (REQUESTS, READINGS, PREDICTIONS)
    }
    if not all(files.values()):
        raise InputError(f"{evaluation.folder / RUN}: lists no answers")
    _require_answers(connection, evaluation, files)
    insert_rows(connection, "runs", [_describe_run(connection, evaluation, files)])
    key = {name: getattr(evaluation, name) for name in KEY}
    (n_rows,) = connection.execute(INSERT_ANSWERS, key | files).fetchone() or (0,)
    _require_rows(evaluation, n_rows)
    if evaluation.kind != "anchors":
        ids = (evaluation.edition_id, evaluation.model_id, evaluation.setting)
        insert_reports(connection, ids, evaluation.run["checks"])


def _require_rows(evaluation: Evaluation, n_rows: int) -> None:
    """Raise UnsoundRows if another number of rows was inserted than the record lists."""
    # A question is predicted once for all of its repeats.
    stage = READINGS if evaluation.kind == "questions" else PREDICTIONS
    n_times = len(evaluation.run["scoring_policies"]) if stage is READINGS else 1
    listed = evaluation.run["files"].items()
    n_listed = n_times * sum(file["rows"] for name, file in listed if name.startswith(f"{stage.name}/"))
    if n_rows != n_listed:
        problem = f"{n_rows} of {n_listed} rows fit the requests, readings and predictions"
        raise UnsoundRows(evaluation.list_files(stage)[0], problem)


def _describe_run(
    connection: duckdb.DuckDBPyConnection, evaluation: Evaluation, files: dict[str, list[str]]
) -> dict[str, Any]:
    """Return the row of the table runs, by its columns."""
    run, period = evaluation.run, evaluation.period
    values = {"policy": run["scoring_policies"][0], "model_id": evaluation.model_id}
    (counts,) = connection.sql(DESCRIBE_RUN, params=values | files).pl().to_dicts()
    return {
        "remarks": [],
        **run,
        **counts,
        **{name: getattr(evaluation, name) for name in KEY},
        **read_price(run),
        "is_evaluated": counts["n_errors"] <= run["max_error_rate"] * counts["n_predictions"],
        "period_start": find_first_day(period) if period is not None else None,
        "finished_at": parse_time(evaluation.folder / RUN, run, "finished_at"),
    }


def _require_answers(
    connection: duckdb.DuckDBPyConnection, evaluation: Evaluation, files: dict[str, list[str]]
) -> None:
    """Check that the response store has every answer that was scored, if files of it were lost."""
    folder = evaluation.root / responses_folder(evaluation.model_id)
    lost = [str(folder / name) for name in evaluation.run["responses"] if not (folder / name).is_file()]
    if not lost:
        return
    values = {"readings": files["readings"], "model_id": evaluation.model_id}
    (n_lost,) = connection.execute(COUNT_LOST, values).fetchone() or (0,)
    if n_lost:
        raise InputError(
            f"{evaluation.folder}: {n_lost:,} of its answers are lost, because a file of responses was lost "
            f"or changed: {', '.join(lost)}; {RESTORE}"
        )
