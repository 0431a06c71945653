"""Load the Parquet files and records under a root into the tables, then create the views.

Rows are inserted in the order of their keys, so that the same data gives the same tables however it is
split into files. An edition, a model or a run without its record (manifest.json, model.json, run.json) is
not complete and is skipped.
"""

import json
from pathlib import Path
from typing import Any

import duckdb

from primitives.errors import InputError
from schemas.columns import Stage
from schemas.exchange import MAX_ERROR_RATE
from schemas.stages import ATTEMPTS, PREDICTIONS, REQUESTS, RESPONSES, SAMPLES, TRIPLETS
from storage.layout import (
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    MANIFEST,
    MODEL,
    RESPONSES_FOLDER,
    RUN,
    model_file,
)
from warehouse.appraisals import load_diversity, load_grades, load_guesses
from warehouse.catalogue import create_tables, create_views, insert_row
from warehouse.records import (
    REBUILD,
    check_rows,
    find_complete,
    find_files,
    insert_parquet,
    parse_time,
    read_record,
    select_columns,
)

EDITION_COLUMNS = (
    "edition_id",
    "kb",
    "label",
    "seed",
    "negatives",
    "pool",
    "rephraser",
    "methods",
    "n_pairs",
)
EDITION_ORDER = {
    "triplets": "relation, pair_id, is_positive desc, triplet_id",
    "samples": "relation, pair_id, triplet_id, method, sample_index, sample_id",
    "attempts": "relation, variant_id, attempt",
}
RUN_STAGES = (REQUESTS, PREDICTIONS)
# A prompt that had failed when the answers were scored counts as failed, even if it was answered later, until
# it is scored again. Older files have no column for its error and count it as wrong; the response tells.
# The reasoning between marks ends at the last closing mark of the response (tasks/asking/reasoning.py).
INSERT_PREDICTIONS = """
insert into predictions
with answers as (
    select
        *,
        length(response) - length(string_split(response, $closing)[-1]) as n_reasoning
    from responses
    where model_id = $model_id
),

thoughts as (
    select
        p.* exclude (error),
        answers.* exclude (prompt_key, model_id, repeat, error, reasoning),
        coalesce(p.error, answers.error) as error,
        coalesce(p.is_unfinished_reasoning, false) as is_unfinished,
        coalesce(
            answers.reasoning,
            nullif(trim(replace(replace(
                case when p.is_unfinished_reasoning then response else left(response, n_reasoning) end,
                $closing, ''), $opening, '')), '')
        ) as reasoning
    from (select {columns} from read_parquet($predictions, union_by_name = true)) as p
    left join answers
        on p.prompt_key = answers.prompt_key and p.repeat = answers.repeat and p.error is null
)

select
    $edition_id, $model_id, thoughts.sample_id, thoughts.repeat, scoring_policy, thoughts.prompt_key,
    requests.n_demonstrations_dropped, prediction, case when error is null then is_correct end,
    is_unfinished, response, reasoning, error,
    case when reasoning is null and not is_unfinished then logprob_true end,
    case when reasoning is null and not is_unfinished then logprob_false end
from thoughts
left join read_parquet($requests) as requests using (sample_id, repeat)
order by scoring_policy, thoughts.repeat, thoughts.relation, thoughts.sample_id
"""
# The marks of a model for which nothing is a mark: no response contains this text.
NO_MARKS = ("\x00", "\x00")


def load_warehouse(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Fill an empty database with everything that is complete under `root`."""
    create_tables(connection)
    for folder in find_complete(root / EDITIONS_FOLDER, MANIFEST):
        load_edition(connection, folder)
    for folder in find_complete(root / RESPONSES_FOLDER, MODEL):
        load_model(connection, folder)
    for edition_id in _list_values(connection, "editions", "edition_id"):
        for folder in find_complete(root / EVALUATIONS_FOLDER / edition_id, RUN):
            load_run(connection, folder)
        load_failures(connection, root, edition_id)
        load_diversity(connection, root, edition_id)
        load_guesses(connection, root, edition_id)
        load_grades(connection, root, edition_id)
    create_views(connection)


def load_edition(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of editions, and the edition's triplets, samples and (if there are any) attempts."""
    manifest = read_record(folder / MANIFEST)
    manifest["edition_id"] = folder.name
    configuration = json.dumps(manifest.get("configuration"), sort_keys=True)
    row = [*(manifest.get(name) for name in EDITION_COLUMNS), configuration]
    insert_row(connection, "editions", row)
    for stage in (TRIPLETS, SAMPLES, ATTEMPTS):
        _load_stage(connection, folder, manifest, stage)


def _load_stage(
    connection: duckdb.DuckDBPyConnection, folder: Path, manifest: dict[str, Any], stage: Stage
) -> None:
    """Insert every row of one stage that the edition's manifest lists."""
    paths = find_files(folder, manifest, stage)
    if not paths:
        return
    n_rows = insert_parquet(
        connection,
        f"insert into {stage.name} (edition_id, {', '.join(stage.names)}) "
        f"select $edition_id, {select_columns(connection, stage, paths)} "
        "from read_parquet($files, union_by_name = true) "
        f"order by {EDITION_ORDER[stage.name]}",
        {"files": (stage, paths)},
        edition_id=folder.name,
    )
    check_rows(folder, manifest, stage, n_rows)


def load_model(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of models, and every response of the model.

    If a prompt was asked again after a failure, the answer counts. If there are two answers, the one in the
    file whose name sorts first counts.
    """
    model = read_record(folder / MODEL)
    insert_row(
        connection,
        "models",
        [
            folder.name,
            model.get("name") or folder.name,
            model.get("engine"),
            json.dumps(model.get("identity"), sort_keys=True),
            model.get("known_heads"),
            model.get("taught_base") and json.dumps(model["taught_base"]),
        ],
    )
    paths = sorted(folder.glob("*.parquet"))
    if paths:
        insert_parquet(
            connection,
            f"insert into responses ({', '.join(RESPONSES.names)}) "
            f"select {select_columns(connection, RESPONSES, paths)} "
            "from read_parquet($files, filename = true, union_by_name = true) "
            "qualify row_number() over ("
            "partition by prompt_key, repeat order by status desc, filename) = 1 "
            "order by prompt_key, repeat",
            {"files": (RESPONSES, paths)},
        )


def load_run(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of runs, and the predictions of one model on one edition."""
    edition_id, model_id = folder.parent.name, folder.name
    if model_id not in _list_values(connection, "models", "model_id"):
        raise InputError(
            f"{folder}: {model_file(model_id)}, which describes the model, is missing; run "
            "`pretexeval run CONFIG`"
        )
    run = read_record(folder / RUN)
    counts = [run.get(name) for name in ("n_samples", "n_asked", "n_reused", "n_errors")]
    finished_at = parse_time(folder / RUN, run, "finished_at")
    row = [edition_id, model_id, run.get("scoring_policies"), *counts, finished_at, run.get("duration_s")]
    insert_row(connection, "runs", [*row, run.get("max_error_rate", MAX_ERROR_RATE), run.get("served")])
    files = {stage.name: (stage, find_files(folder, run, stage)) for stage in RUN_STAGES}
    for stage, paths in files.values():
        if not paths:
            raise InputError(f"{folder / stage.name}: no Parquet file; {REBUILD}")
    columns = select_columns(connection, *files[PREDICTIONS.name])
    statement = INSERT_PREDICTIONS.format(columns=columns)
    marks = run.get("reasoning_marks") or ("", "")
    opening, closing = marks if marks[1] else NO_MARKS
    values = {"edition_id": edition_id, "model_id": model_id, "opening": opening, "closing": closing}
    n_rows = insert_parquet(connection, statement, files, **values)
    check_rows(folder, run, PREDICTIONS, n_rows)


def load_failures(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert one row of failures for every model whose last evaluation of the edition ended with an error."""
    for path in sorted((root / FAILURES_FOLDER / edition_id).glob("*.json")):
        record = read_record(path)
        failed_at = parse_time(path, record, "failed_at")
        row = [edition_id, path.stem, record.get("model_id"), record.get("reason"), failed_at]
        insert_row(connection, "failures", row)


def _list_values(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> list[str]:
    rows = connection.execute(f"select {column} from {table} order by {column}").fetchall()
    return [str(value) for (value,) in rows]
