"""Create the tables, macros and views of the warehouse in an explicit order."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pretexeval.primitives.errors import InputError
from schemas.columns import Stage
from schemas.meanings import describe_column, list_tables
from schemas.question_stages import QUESTIONS
from schemas.stages import (
    ATTEMPTS,
    DIVERSITY,
    GUESSES,
    HUMAN_VERDICTS,
    SAMPLES,
    STATEMENTS,
    TRIPLETS,
    VARIANTS,
)
from warehouse import label_audit
from warehouse.estimation import create_estimated
from warehouse.scoring import create_scores

FOLDER = Path(__file__).parent
# Table -> the stage whose rows it has, each with its edition, and a second stage that adds columns to them.
# These columns are null where the second stage has no row.
STAGE_TABLES: dict[str, tuple[Stage, ...]] = {
    "triplets": (TRIPLETS, GUESSES),
    "variants": (VARIANTS, STATEMENTS),
    "samples": (SAMPLES, DIVERSITY),
    "attempts": (ATTEMPTS,),
    "questions": (QUESTIONS,),
    "human_verdicts": (HUMAN_VERDICTS,),
}
TYPES = {
    pa.string(): "varchar",
    pa.bool_(): "boolean",
    pa.float64(): "double",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.list_(pa.string()): "varchar[]",
}
# Queries that others share: macros, and views in the schema `storage`. Those of SHARED come before the facts,
# and those of COMPARED after the table differences.
SHARED = (
    "pair_clusters",
    "point_clusters",
    "match_taught",
    "taught_pairs",
    "taught_points",
    "pair_groups",
    "cutoff_pairs",
)
COMPARED = ("paired_models",)
# Tables of counts, with a row per sample, pair or point; freshness counts whole editions. They are computed
# once, so that views need not do it in every query.
FACTS = (
    "shortcut_scores",
    "sample_scores",
    "pair_scores",
    "point_scores",
    "point_mastery",
    "freshness",
)
# Files that add rows to the tables scores and differences, and then those of further tables of scores, in the
# order in which they are run. They say what is estimated (estimation.py).
ADDED = ("question_differences",)
ESTIMATED = (
    "shortcut_baselines",
    "knows_guesses_errs",
    "facet_accuracy",
    "mastered_points",
    "option_baselines",
)
# What an analyst reads: views, and those tables of scores that are read like views. In the order of creation:
# a view comes after the views that it reads.
VIEW_GROUPS = {
    "Scores of the models on an edition": (
        "leaderboard",
        "joint_accuracy_curve",
        "accuracy_by_relation",
        "form_effects",
        "accuracy_by_group",
        "probability_calibration",
        "knows_guesses_errs",
        "not_evaluated",
    ),
    "Comparisons of models, methods, baselines and editions": (
        "model_comparison",
        "method_comparison",
        "ablations",
        "edition_drift",
        "anchor_drift",
        "drift_explanations",
    ),
    "Single facts and answers": (
        "prediction_details",
        "pair_details",
    ),
    "Labels and prototypes that the answers contradict": (
        "label_audit",
        "suspect_prototypes",
    ),
    "Questions of four types (facets)": ("facet_details",),
    "How an edition was made, checked and paid for": (
        "sample_quality",
        "rejection_reasons",
        "human_review",
        "cost",
    ),
}
VIEWS = tuple(name for names in VIEW_GROUPS.values() for name in names if name not in ESTIMATED)
START = ("leaderboard", "accuracy_by_relation", "model_comparison", "pair_details", "prediction_details")
"""The views to read first."""


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the loaded tables, without rows, and the macros of the views."""
    for table, (stage, *others) in STAGE_TABLES.items():
        columns = {"edition_id": "varchar not null"}
        columns |= {c.name: TYPES[c.type] + " not null" * (not c.is_nullable) for c in stage.columns}
        columns |= {c.name: TYPES[c.type] for s in others for c in s.columns if c.name not in columns}
        columns |= label_audit.COLUMNS if table == "triplets" else {}
        connection.execute(f"create table {table} ({', '.join(map(' '.join, columns.items()))})")
    for name in ("tables", "storage_tables", "macros"):
        connection.execute(read_sql(f"{name}.sql"))


def create_views(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Compute the tables of counts and of scores from the loaded tables, and create the views, each in order.

    The grain in the first line of each file becomes the comment of its table or view in the database.

    Args:
        root: the data folder, which keeps scores that were computed before.
    """
    shared = {name: read_sql(f"shared/{name}.sql") for name in (*SHARED, *COMPARED)}
    facts = {name: read_sql(f"facts/{name}.sql") for name in FACTS}
    estimated = {name: read_sql(f"estimated/{name}.sql") for name in ESTIMATED}
    views = {name: read_sql(f"views/{name}.sql") for name in VIEWS}
    for text in (*(shared[name] for name in SHARED), *facts.values()):
        connection.execute(text)
    create_scores(connection, root)
    for name in COMPARED:
        connection.execute(shared[name])
    for text in (*(read_sql(f"estimated/{name}.sql") for name in ADDED), *estimated.values()):
        create_estimated(connection, text)
    for text in views.values():
        connection.execute(text)
    write_comments(connection, shared | facts | estimated | views)


def insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows by the names of the columns. A missing value is null, and what has no column is ignored.

    Raises:
        InputError: a value does not fit its column. No row was inserted.
    """
    if not rows:
        return
    columns = [str(name) for name, *_ in connection.execute(f"describe {table}").fetchall()]
    marks = ", ".join("?" for _ in columns)
    connection.begin()
    try:
        values = [[row.get(name) for name in columns] for row in rows]
        connection.executemany(f"insert into {table} values ({marks})", values)
        connection.commit()
    except (duckdb.DataError, duckdb.IntegrityError, duckdb.InvalidInputException) as error:
        connection.rollback()
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{table}: the record of {rows[0].get(columns[0])} has a value that does not fit ({reason}); "
            "run `pretexeval run CONFIG` to write it again"
        ) from error


def read_sql(name: str) -> str:
    """Return the text of an SQL file of the warehouse."""
    return (FOLDER / name).read_text(encoding="utf-8")


RELATIONS = """
select 'table', table_name, comment from duckdb_tables() where not internal and schema_name = 'main'
union all
select 'view', view_name, comment from duckdb_views() where not internal and schema_name = 'main'
"""
# The schema `storage` is for the publisher alone (storage_tables.sql): its views are explained, not columns.
SHARED_VIEWS = """
select 'view', 'storage.' || view_name, comment
from duckdb_views()
where not internal and schema_name = 'storage'
"""
COLUMNS = """
select table_name, column_name, comment from duckdb_columns() where not internal and schema_name = 'main'
"""


def write_comments(connection: duckdb.DuckDBPyConnection, texts: Mapping[str, str]) -> None:
    """Say what a row of every table and view is, and what every column means, where the database does not.

    Args:
        texts: name of a view, or of a table of counts or of scores -> its SQL, which begins with its grain.
    """
    grains = list_tables()
    grains |= {name: text.splitlines()[0].removeprefix("-- Grain: ") for name, text in texts.items()}
    statements = ["begin"]
    for kind, name, comment in connection.execute(f"{RELATIONS} union all {SHARED_VIEWS}").fetchall():
        if comment != (grain := grains.get(name.removeprefix("storage."), comment)):
            statements.append(f"comment on {kind} {name} is {_quote(grain)}")
    for relation, column, comment in connection.execute(COLUMNS).fetchall():
        if comment != (meaning := describe_column(relation, column)):
            statements.append(f'comment on column {relation}."{column}" is {_quote(meaning)}')
    # Each statement by itself would be flushed to disk, which takes several seconds for all of them.
    connection.execute("; ".join([*statements, "commit"]))


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
