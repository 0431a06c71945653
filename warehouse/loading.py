"""Load the Parquet files and records under a root into the tables, then create the views.

Rows are inserted in the order of their keys, so that the same data gives the same tables however it is
split into files. An edition, a model or a run without its record (manifest.json, model.json, run.json) is
not complete and is left out. What contradicts its record is left out too, and the rest is loaded.
"""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from primitives.errors import InputError
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, RESPONSES, SAMPLES, TRIPLETS
from storage.layout import (
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    MANIFEST,
    MODEL,
    QUESTION_EVALUATIONS_FOLDER,
    RESPONSES_FOLDER,
)
from storage.manifests import find_manifest
from storage.records import find_record, set_aside
from storage.responses import ResponseStore
from warehouse.answer_loading import load_run, warn_of_lost_replies
from warehouse.appraisals import list_grades, load_diversity, load_grades, load_guesses
from warehouse.catalogue import create_tables, create_views, insert_row
from warehouse.checks import load_checks
from warehouse.question_loading import check_points, load_question_run
from warehouse.records import (
    RecordMissing,
    check_files,
    check_rows,
    find_files,
    find_filled,
    insert_parquet,
    parse_time,
    read_price,
    require_record,
    select_columns,
)
from warehouse.variants import load_variants
from warehouse.writer_loading import load_writer_tokens

logger = logging.getLogger(__name__)

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


def load_warehouse(connection: duckdb.DuckDBPyConnection, root: Path) -> list[str]:
    """Fill an empty database with everything sound under `root`; return why other parts were left out.

    A part without a record is only logged, because a run that was interrupted leaves such parts.
    """
    create_tables(connection)
    loading = _Loading(connection)
    for folder in find_filled(root / EDITIONS_FOLDER):
        loading.load(load_edition, folder)
    for folder in sorted({path.parent for path in (root / RESPONSES_FOLDER).glob("*/*")}):
        loading.load(load_model, folder)
    for edition_id in _list_values(connection, "editions", "edition_id"):
        for folder in find_filled(root / EVALUATIONS_FOLDER / edition_id):
            loading.load(load_run, folder)
        for setting in sorted((root / QUESTION_EVALUATIONS_FOLDER / edition_id).glob("*")):
            for folder in find_filled(setting):
                loading.load(load_question_run, folder)
        for path in _list_failures(root, edition_id):
            load_failure(connection, path, edition_id)
        for load in (load_diversity, load_guesses):
            loading.load(load, root, edition_id)
        for path in list_grades(root, edition_id):
            loading.load(load_grades, path, edition_id)
    load_checks(connection, root)
    check_points(connection)
    warn_of_lost_replies(connection, root)
    create_views(connection)
    return loading.problems


class _Loading:
    """Loads parts of a root one by one, so that one that cannot be loaded leaves the others."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.problems: list[str] = []
        self._connection = connection
        self._missing: set[str] = set()

    def load(self, load: Callable[..., None], *arguments: object) -> None:
        """Load one part in a transaction of its own, and note why it cannot be loaded."""
        self._connection.begin()
        try:
            load(self._connection, *arguments)
        except InputError as error:
            self._connection.rollback()
            self._note(error)
        except BaseException:
            self._connection.rollback()
            raise
        else:
            self._connection.commit()

    def _note(self, error: InputError) -> None:
        if not isinstance(error, RecordMissing):
            self.problems.append(str(error))
        elif str(error) not in self._missing:
            # All evaluations of one model lack the same record.
            self._missing.add(str(error))
            logger.warning("%s", error)


def load_edition(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of editions, and the rows of those of its stages that it has.

    Raises:
        RecordMissing: its manifest is missing or damaged.
        InputError: a file is not as its manifest lists it.
    """
    manifest = find_manifest(folder.parent.parent, folder.name)
    if manifest is None:
        raise RecordMissing(
            f"{folder / MANIFEST} is missing, so the edition and its evaluations are left out; `pretexeval "
            "build` with its configuration completes it"
        )
    check_files(folder, manifest, MANIFEST)
    manifest["edition_id"] = folder.name
    if not find_files(folder, manifest, TRIPLETS):
        manifest.update(dict.fromkeys(TRIPLET_COLUMNS))
    configuration = json.dumps(manifest.get("configuration"), sort_keys=True)
    row = [*(manifest.get(name) for name in EDITION_COLUMNS), configuration]
    insert_row(connection, "editions", row)
    for stage in (TRIPLETS, SAMPLES, ATTEMPTS, QUESTIONS):
        _load_stage(connection, folder, manifest, stage)
    load_variants(connection, folder, manifest)
    load_writer_tokens(connection, folder.parent.parent, folder.name)


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
    """Insert one row of models, and every response of the model that is stored in an intact file.

    If a prompt was asked again after a failure, the answer counts. If there are two answers, the one in the
    file whose name sorts first counts.

    Raises:
        RecordMissing: its record is missing or damaged.
    """
    paths = ResponseStore(folder.parent.parent, folder.name).list_files()
    model = require_record(folder / MODEL, model_id=folder.name)
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
            *read_price(model),
        ],
    )
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


def load_failure(connection: duckdb.DuckDBPyConnection, path: Path, edition_id: str) -> None:
    """Insert one row of failures: an evaluation of the edition whose last attempt ended with an error.

    A damaged record is set aside. The failures of a setting, in which questions are asked, are in a folder
    with its name.
    """
    remedy = "the next evaluation of this model writes it again if it fails"
    record = find_record(path, remedy, edition_id=edition_id, model=path.stem)
    if record is None:
        return
    setting = None if path.parent.name == edition_id else path.parent.name
    try:
        failed_at = parse_time(path, record, "failed_at")
        row = [edition_id, setting, path.stem, record.get("model_id"), record.get("reason"), failed_at]
        insert_row(connection, "failures", row)
    except InputError as error:
        set_aside(path, error, remedy)


def _list_failures(root: Path, edition_id: str) -> list[Path]:
    folder = root / FAILURES_FOLDER / edition_id
    return sorted([*folder.glob("*.json"), *folder.glob("*/*.json")])


def _list_values(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> list[str]:
    rows = connection.execute(f"select {column} from {table} order by {column}").fetchall()
    return [str(value) for (value,) in rows]
