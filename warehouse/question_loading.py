"""Load what models answered to the questions of an edition, in every setting."""

from pathlib import Path

import duckdb

from primitives.errors import InputError
from schemas.question_stages import (
    QUESTION_PREDICTIONS,
    QUESTION_READINGS,
    QUESTION_REQUESTS,
)
from storage.layout import RUN
from warehouse.answer_loading import (
    REASONING,
    RESPONSES_OF_MODEL,
    list_run_files,
    note_how_asked,
    read_circumstances,
    read_marks,
    require_answers,
    require_model,
)
from warehouse.catalogue import insert_row
from warehouse.checks import insert_reports
from warehouse.records import check_files, check_rows, insert_parquet, require_record

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
INSERT_PREDICTIONS = """
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
    n_rows = insert_parquet(connection, INSERT_PREDICTIONS, dict((predictions,)), **key)
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
