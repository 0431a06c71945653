"""Load what models answered to the samples of an edition."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from primitives.errors import InputError
from schemas.columns import Stage
from schemas.stages import PREDICTIONS, REQUESTS
from storage.layout import RUN, model_file, responses_folder
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
