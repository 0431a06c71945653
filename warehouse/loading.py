"""Load the Parquet files and records under a root into the tables.

The rows of a part are inserted in the order of their keys, so that the same data gives the same rows
however it is split into files. An edition, a model or a run without its record (manifest.json, model.json,
run.json) is not complete and is left out. What contradicts its record is left out too; the rest is loaded.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from pretexeval.config.schedule import find_first_day
from pretexeval.primitives.errors import InputError
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import MANIFEST, rewordings_record, withdrawal_record, writer_tokens_record
from pretexeval.storage.records import explain_missing, find_manifest, find_record, read_files, set_aside
from pretexeval.storage.withdrawals import find_withdrawal
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from warehouse.answer_loading import RUNS, load_run, warn_of_lost_replies
from warehouse.appraisals import load_diversity, load_grades, load_guesses
from warehouse.catalogue import create_tables, create_views, insert_row
from warehouse.checks import load_checks, load_freshness_limit
from warehouse.increments import Increment, report_left_out, write_loaded_parts
from warehouse.model_loading import load_model
from warehouse.parts import Part, name_parts
from warehouse.records import (
    RecordMissing,
    check_files,
    check_rows,
    find_files,
    insert_parquet,
    parse_time,
    read_price,
)

INSERT = """
insert into variants
select
    $edition_id, variant_id, variants.triplet_id, variants.pair_id, variants.relation, variants.split,
    variants.transformation, variants.label, predicate, prototype_id, statement
from storage.read_files($variants) as variants
left join storage.read_files($statements) as statements using (variant_id)
order by variants.relation, variants.pair_id, variants.triplet_id, variants.variant_id
"""


def load_variants(connection: duckdb.DuckDBPyConnection, folder: Path, manifest: dict[str, Any]) -> None:
    """Insert one row per variant that the manifest of the edition lists; editions without triplets have none.

    Raises:
        InputError: a file cannot be read, or it has another number of rows than the manifest lists.
    """
    files = {stage.name: (stage, find_files(folder, manifest, stage)) for stage in (VARIANTS, STATEMENTS)}
    if not all(paths for _, paths in files.values()):
        return
    n_rows = insert_parquet(connection, INSERT, files, edition_id=folder.name)
    for stage in (VARIANTS, STATEMENTS):
        check_rows(folder, manifest, stage, n_rows)


REMEDY = "`pretexeval publish` with the configuration of the edition writes it again"
COUNTS = ("n_prompts", "n_unknown", "n_prompt_tokens", "n_completion_tokens")


def load_writer_tokens(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert one row per role, if the edition has a record. A damaged record is set aside."""
    record = find_record(root / writer_tokens_record(edition_id), REMEDY, edition_id=edition_id) or {}
    for role in record.get("roles", []):
        counts = [role[name] for name in COUNTS]
        row = [edition_id, role["role"], role["model_id"], *counts, *read_price(role)]
        insert_row(connection, "writer_tokens", row)


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
RISK_COLUMNS = (
    "n_pairs",
    "n_left_out",
    "shape",
    "tail_rate",
    "guessable_rate",
    "n_tried",
    "n_wrong",
    "missing_share",
    "wrong_rate",
    "wrong_rate_ci_low",
    "wrong_rate_ci_high",
    "is_balanced",
    "n_base_heads",
    "n_base_facts",
    "n_tested_facts",
)
EDITION_ORDER = {
    "triplets": "relation, pair_id, is_positive desc, triplet_id",
    "samples": "relation, pair_id, triplet_id, method, sample_index, sample_id",
    "attempts": "relation, variant_id, attempt",
    "questions": "relation, point_id, question_id",
}


def load_warehouse(connection: duckdb.DuckDBPyConnection, root: Path) -> list[str]:
    """Bring a database up to date with everything sound under `root`; return why other parts were left out.

    An empty database gets all tables and views first. A part without a record is only logged, because a run
    that was interrupted leaves such parts.
    """
    if not connection.execute("from duckdb_schemas() where schema_name = 'storage'").fetchone():
        create_tables(connection)
        create_views(connection)
    loaded_parts = Increment(connection, name_parts(root), partial(_load_part, connection, root)).apply()
    write_loaded_parts(connection, loaded_parts)
    warn_of_lost_replies(connection, root)
    return report_left_out(loaded_parts.values())


def _load_part(connection: duckdb.DuckDBPyConnection, root: Path, part: Part) -> None:
    """Insert the rows of a part; what belongs to an edition that is left out is left out with it."""
    edition_id = part.key.get("edition_id")
    if part.kind == "edition":
        load_edition(connection, part.path)
    elif part.kind == "model":
        load_model(connection, part.path)
    elif part.kind == "checks":
        load_checks(connection, root)
    elif edition_id and _has_edition(connection, edition_id):
        _load_part_of_edition(connection, root, part, edition_id)


def _load_part_of_edition(
    connection: duckdb.DuckDBPyConnection, root: Path, part: Part, edition_id: str
) -> None:
    loads: dict[str, Callable[[], None]] = {
        "guesses": partial(load_guesses, connection, root, edition_id),
        "diversity": partial(load_diversity, connection, root, edition_id),
        "writer_tokens": partial(load_writer_tokens, connection, root, edition_id),
        "freshness_limit": partial(load_freshness_limit, connection, root, edition_id),
        "grades": partial(load_grades, connection, part.path, edition_id),
        **dict.fromkeys(RUNS, partial(load_run, connection, part)),
        "failure": partial(load_failure, connection, part.path, edition_id),
    }
    loads[part.kind]()


def _has_edition(connection: duckdb.DuckDBPyConnection, edition_id: str) -> bool:
    return bool(connection.execute("from editions where edition_id = ?", [edition_id]).fetchone())


def load_edition(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of editions, its risks, and the rows of those of its stages that it has.

    Raises:
        RecordMissing: its manifest is missing or damaged.
        InputError: a file is not as its manifest lists it, or a sample has a wrong label.
    """
    manifest = find_manifest(folder.parent.parent, folder.name)
    if manifest is None:
        consequence = (
            "so the edition and its evaluations are left out; `pretexeval build` with its configuration "
            "completes it"
        )
        raise RecordMissing(explain_missing(folder / MANIFEST, consequence))
    check_files(folder, manifest, MANIFEST)
    require_derived_labels(Path(), read_files(manifest, folder.as_posix()))
    manifest["edition_id"] = folder.name
    if not find_files(folder, manifest, TRIPLETS):
        manifest.update(dict.fromkeys(TRIPLET_COLUMNS))
    configuration = json.dumps(manifest.get("configuration"), sort_keys=True)
    is_anchors = "anchor_pairs" in (manifest.get("configuration") or {})
    root = folder.parent.parent
    withdrawn = find_withdrawal(root, folder.name)
    path = root / rewordings_record(folder.name)
    reviewed = find_record(path, "import the sheet again", edition_id=folder.name)
    wrong_texts = (reviewed or manifest).get("wrong_texts")
    row = [
        *(manifest.get(name) for name in EDITION_COLUMNS),
        configuration,
        json.dumps(wrong_texts) if wrong_texts else None,
        json.dumps(manifest["naturalness"]) if manifest.get("naturalness") else None,
        is_anchors,
        find_first_day(str(manifest.get("label"))),
        withdrawn and parse_time(root / withdrawal_record(folder.name), withdrawn, "withdrawn_at"),
        withdrawn and withdrawn.get("reason"),
    ]
    insert_row(connection, "editions", row)
    sizes = manifest.get("profile", {}).get("relations", {})
    for relation, balance in manifest.get("balance", {}).items():
        figures = balance | sizes.get(relation, {})
        risks = [figures.get(name) for name in RISK_COLUMNS]
        insert_row(connection, "label_risks", [folder.name, relation, *risks])
    for stage in (TRIPLETS, SAMPLES, ATTEMPTS, QUESTIONS):
        _load_stage(connection, folder, manifest, stage)
    load_variants(connection, folder, manifest)


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
        f"select $edition_id, {', '.join(stage.names)} from storage.read_files($files) "
        f"order by {EDITION_ORDER[stage.name]}",
        {"files": (stage, paths)},
        edition_id=folder.name,
    )
    check_rows(folder, manifest, stage, n_rows)


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
