"""Load what models answered to the samples of an edition."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from pretexeval.config.schedule import find_first_day
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import RUN, model_file, responses_folder
from schemas.columns import Stage
from schemas.question_stages import (
    QUESTION_PREDICTIONS,
    QUESTION_READINGS,
    QUESTION_REQUESTS,
)
from schemas.stages import PREDICTIONS, REQUESTS
from warehouse.catalogue import insert_row
from warehouse.checks import insert_reports
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


RunFiles = dict[str, tuple[Stage, list[Path]]]
# The reasoning between marks ends at the last closing mark of the response (tasks/asking/reasoning.py).
RESPONSES_OF_MODEL = """
    select
        * exclude (prompt_number),
        length(response) - length(string_split(response, $closing)[-1]) as n_reasoning
    from storage.responses
    where model_id = $model_id
"""
REASONING = """coalesce(
            answers.reasoning,
            nullif(trim(replace(replace(
                case when p.is_unfinished_reasoning then response else left(response, n_reasoning) end,
                $closing, ''), $opening, '')), '')
        )"""
"""What the model thought, where `p` is what was read and `answers` the response."""
# A prompt that had failed when the answers were scored counts as failed, even if it was answered later, until
# it is scored again.
INSERT_PREDICTIONS = f"""
insert into predictions
with answers as ({RESPONSES_OF_MODEL}),

thoughts as (
    select
        p.*,
        answers.* exclude (prompt_key, model_id, repeat, error, reasoning),
        coalesce(p.is_unfinished_reasoning, false) as is_unfinished,
        {REASONING} as reasoning
    from read_parquet($predictions) as p
    left join answers
        on p.prompt_key = answers.prompt_key and p.repeat = answers.repeat and p.error is null
)

select
    $edition_id, $model_id, thoughts.sample_id, thoughts.repeat, scoring_policy, thoughts.prompt_key,
    requests.n_demonstrations_dropped, prediction, is_correct,
    is_unfinished, response, reasoning, error,
    case when reasoning is null and not is_unfinished then logprob_true end,
    case when reasoning is null and not is_unfinished then logprob_false end
from thoughts
left join read_parquet($requests) as requests using (sample_id, repeat)
order by scoring_policy, thoughts.repeat, thoughts.relation, thoughts.sample_id
"""
# The marks of a model for which nothing is a mark: no response contains this text.
NO_MARKS = ("\x00", "\x00")


def load_run(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of runs, and the predictions of one model on one edition."""
    edition_id, model_id = folder.parent.name, folder.name
    run = require_record(folder / RUN, edition_id=edition_id, model_id=model_id)
    require_model(connection, folder)
    check_files(folder, run, RUN)
    counts = [run[name] for name in ("n_samples", "n_asked", "n_reused", "n_errors")]
    row = [edition_id, model_id, run["scoring_policies"], *counts, *read_circumstances(folder, run)]
    insert_row(connection, "runs", row)
    files = list_run_files(folder, run, (REQUESTS, PREDICTIONS))
    key = {"edition_id": edition_id, "model_id": model_id}
    n_rows = insert_parquet(connection, INSERT_PREDICTIONS, files, **key, **read_marks(run))
    check_rows(folder, run, PREDICTIONS, n_rows)
    note_how_asked(connection, "runs", files, key)
    require_answers(connection, "predictions", folder, run, key)
    insert_reports(connection, "run_checks", key, run["checks"])


def require_answers(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    folder: Path,
    run: Mapping[str, Any],
    key: dict[str, str],
) -> None:
    """Check that the response store has every answer that was scored.

    Args:
        table: predictions or question_answers, with the rows of the run in this folder.
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


def read_circumstances(folder: Path, run: dict[str, Any]) -> list[Any]:
    """Return the last columns of runs: when it finished, its duration, limit, what answered, and prices."""
    finished_at = parse_time(folder / RUN, run, "finished_at")
    recorded = [run[name] for name in ("duration_s", "max_error_rate", "served")]
    # Two columns are filled from the requests (note_how_asked).
    return [finished_at, *recorded, *read_price(run), None, None, run["n_demonstrations"]]


def note_how_asked(
    connection: duckdb.DuckDBPyConnection, table: str, files: RunFiles, key: Mapping[str, str]
) -> None:
    """Fill the prompt style and the sampling parameters of a run, which all of its requests share.

    Args:
        table: runs or question_runs.
        files: of the run, with its requests first.
        key: the columns that identify the run, with their values.
    """
    (name, requests), *_ = files.items()
    where = " and ".join(f"{table}.{column} = ${column}" for column in key)
    insert_parquet(
        connection,
        f"update {table} set prompt_style = asked.prompt_style, sampling = asked.sampling "
        "from (select min(prompt_style) as prompt_style, min(sampling) as sampling "
        f"from read_parquet(${name})) as asked where {where}",
        {name: requests},
        **key,
    )


def list_run_files(folder: Path, run: dict[str, Any], stages: tuple[Stage, ...]) -> RunFiles:
    """Return the stages of a run with their files, by name."""
    return {stage.name: (stage, find_files(folder, run, stage)) for stage in stages}


def read_marks(run: dict[str, Any]) -> dict[str, str]:
    """Return the opening and closing mark of the model's reasoning, as parameters of the statements."""
    marks = run.get("reasoning_marks") or ("", "")
    opening, closing = marks if marks[1] else NO_MARKS
    return {"opening": opening, "closing": closing}


RUN_STAGES = (QUESTION_REQUESTS, QUESTION_READINGS, QUESTION_PREDICTIONS)
# A repeat that had failed when the answers were read counts as failed until they are read again.
INSERT_ANSWERS = f"""
insert into question_answers
with answers as ({RESPONSES_OF_MODEL})

select
    $edition_id, $setting, $model_id, p.question_id, p.repeat, p.prompt_key, p.answer, p.rule,
    p.error, coalesce(p.is_unfinished_reasoning, false),
    requests.n_demonstrations_dropped, answers.response, {REASONING}
from read_parquet($question_readings) as p
left join answers
    on p.prompt_key = answers.prompt_key and p.repeat = answers.repeat and p.error is null
left join read_parquet($question_requests) as requests
    on p.question_id = requests.question_id and p.repeat = requests.repeat
order by p.relation, p.question_id, p.repeat
"""
INSERT_QUESTION_PREDICTIONS = """
insert into question_predictions
select
    $edition_id, $setting, $model_id, question_id, scoring_policy, prediction,
    is_correct, n_answers, n_agreeing, error
from read_parquet($question_predictions)
order by scoring_policy, relation, question_id
"""


def load_question_run(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of question_runs, and what a model answered to the edition's questions in a setting."""
    key = {
        "edition_id": folder.parent.parent.name,
        "setting": folder.parent.name,
        "model_id": folder.name,
    }
    run = require_record(folder / RUN, edition_id=key["edition_id"], model_id=key["model_id"])
    require_model(connection, folder)
    check_files(folder, run, RUN)
    files = list_run_files(folder, run, RUN_STAGES)
    requests, readings, predictions = files.items()
    n_answers = insert_parquet(
        connection, INSERT_ANSWERS, dict((requests, readings)), **key, **read_marks(run)
    )
    check_rows(folder, run, QUESTION_READINGS, n_answers)
    n_rows = insert_parquet(connection, INSERT_QUESTION_PREDICTIONS, dict((predictions,)), **key)
    check_rows(folder, run, QUESTION_PREDICTIONS, n_rows)
    require_answers(connection, "question_answers", folder, run, key)
    n_questions, n_repeats = connection.execute(
        "select count(distinct question_id), max(repeat) + 1 from question_answers "
        "where edition_id = $edition_id and setting = $setting and model_id = $model_id",
        key,
    ).fetchone() or (0, 0)
    counts = [n_questions, n_repeats, *(run[name] for name in ("n_asked", "n_reused", "n_errors"))]
    row = [*key.values(), run["scoring_policies"], *counts, *read_circumstances(folder, run)]
    insert_row(connection, "question_runs", row)
    note_how_asked(connection, "question_runs", files, key)
    insert_reports(connection, "question_run_checks", key, run["checks"])


def check_points(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise InputError if a point has more questions of one form than its bit set holds."""
    found = connection.execute(
        "select edition_id, point_id, type, count(*) from questions where split = 'test' "
        "group by edition_id, point_id, type, is_negated, type = 'RQ' and answer like 'F%' "
        "having count(*) > if(type = 'RQ', 4, 8) order by all limit 1"
    ).fetchone()
    if found:
        edition_id, point_id, kind, n = found
        raise InputError(
            f"{edition_id}: the point {point_id} has {n} questions of the type {kind} in one form; a point "
            "may have 4 RQ that offer the right option, 4 that offer a wrong one, and 8 of any other type, "
            "and as many negated ones. Split the point, or leave questions out"
        )


INSERT_ANCHOR_PREDICTIONS = """
insert into anchor_predictions
with answers as (
    select prompt_key, repeat, response
    from storage.responses
    where model_id = $model_id
)

select
    $edition_id, $period, $model_id, p.sample_id, p.repeat, p.scoring_policy, p.prompt_key, p.prediction,
    p.is_correct, answers.response, p.error
from read_parquet($predictions) as p
left join answers on p.prompt_key = answers.prompt_key and p.repeat = answers.repeat and p.error is null
order by p.scoring_policy, p.repeat, p.relation, p.sample_id
"""


def load_anchor_run(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of anchor_runs, and the predictions of one model on anchors in one period."""
    period, model_id = folder.parent.name, folder.name
    key = {"edition_id": folder.parents[1].name, "period": period, "model_id": model_id}
    run = require_record(folder / RUN, edition_id=key["edition_id"], model_id=model_id)
    require_model(connection, folder)
    check_files(folder, run, RUN)
    counts = [run[name] for name in ("n_samples", "n_asked", "n_errors")]
    finished_at = parse_time(folder / RUN, run, "finished_at")
    circumstances = [finished_at, run["max_error_rate"], run["served"], *read_price(run)]
    # The last two columns are filled from the requests.
    row = [*key.values(), find_first_day(period), *counts, *circumstances, None, None]
    insert_row(connection, "anchor_runs", row)
    files = list_run_files(folder, run, (REQUESTS, PREDICTIONS))
    predictions = {PREDICTIONS.name: files[PREDICTIONS.name]}
    n_rows = insert_parquet(connection, INSERT_ANCHOR_PREDICTIONS, predictions, **key)
    check_rows(folder, run, PREDICTIONS, n_rows)
    note_how_asked(connection, "anchor_runs", files, key)
    require_answers(connection, "anchor_predictions", folder, run, key)
