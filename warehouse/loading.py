"""Load the Parquet files and records under a root into the tables, then create the views.

Rows are inserted in the order of their keys, so that the same data gives the same tables however it is
split into files. An edition, a model or a run without its record (manifest.json, model.json, run.json) is
not complete and is skipped.
"""

import json
from pathlib import Path
from typing import Any

import duckdb

from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, RESPONSES, SAMPLES, TRIPLETS
from storage.layout import (
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    MANIFEST,
    MODEL,
    RESPONSES_FOLDER,
    RUN,
)
from warehouse.answer_loading import load_run
from warehouse.appraisals import load_diversity, load_grades, load_guesses
from warehouse.catalogue import create_tables, create_views, insert_row
from warehouse.question_loading import check_points, load_question_runs
from warehouse.records import (
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
# What only editions with triplets have. The manifest of another edition holds the defaults of these settings.
TRIPLET_COLUMNS = ("negatives", "pool", "rephraser", "methods")
EDITION_ORDER = {
    "triplets": "relation, pair_id, is_positive desc, triplet_id",
    "samples": "relation, pair_id, triplet_id, method, sample_index, sample_id",
    "attempts": "relation, variant_id, attempt",
    "questions": "relation, point_id, question_id",
}


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
        load_question_runs(connection, root, edition_id)
        load_failures(connection, root, edition_id)
        load_diversity(connection, root, edition_id)
        load_guesses(connection, root, edition_id)
        load_grades(connection, root, edition_id)
    check_points(connection)
    create_views(connection)


def load_edition(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of editions, and the rows of those of its stages that it has."""
    manifest = read_record(folder / MANIFEST)
    manifest["edition_id"] = folder.name
    if not find_files(folder, manifest, TRIPLETS):
        manifest.update(dict.fromkeys(TRIPLET_COLUMNS))
    configuration = json.dumps(manifest.get("configuration"), sort_keys=True)
    row = [*(manifest.get(name) for name in EDITION_COLUMNS), configuration]
    insert_row(connection, "editions", row)
    for stage in (TRIPLETS, SAMPLES, ATTEMPTS, QUESTIONS):
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


def load_failures(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert one row of failures for every evaluation of the edition whose last attempt ended with an error.

    The failures of a setting, in which questions are asked, are in a folder with its name.
    """
    folder = root / FAILURES_FOLDER / edition_id
    for path in sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]):
        record = read_record(path)
        setting = path.parent.name if path.parent != folder else None
        failed_at = parse_time(path, record, "failed_at")
        row = [edition_id, setting, path.stem, record.get("model_id"), record.get("reason"), failed_at]
        insert_row(connection, "failures", row)


def _list_values(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> list[str]:
    rows = connection.execute(f"select {column} from {table} order by {column}").fetchall()
    return [str(value) for (value,) in rows]
