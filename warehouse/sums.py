"""Compute the tables of sums and estimates, all rows of them or only those that an increment concerns.

While a scope is set, temporary views with the names of tables contain only the rows that are concerned.
DuckDB finds them before the tables, so that the same SQL computes all rows or some.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb

from warehouse import catalogue
from warehouse.catalogue import read_query, read_sql

# Predictions whose sums are computed at once: those of three models on all of MedLAMA.
BATCH_ROWS = 1_000_000
OF_RUN = (
    "error_counts",
    "pair_scores",
    "token_counts",
    "calibration_sums",
    "question_error_counts",
    "point_scores",
)
Run = tuple[str, str]
"""An edition and a model."""
SOURCES = {"responses": "storage.responses"}
"""View -> the table that has the same rows without the texts of the prompts."""
RUN_COLUMNS = ("edition_id", "model_id")
EDITION_COLUMNS = ("edition_id",)
SHADOWED_FOR_RUNS = {
    **dict.fromkeys(
        (
            "runs",
            "question_runs",
            "predictions",
            "question_predictions",
            "question_answers",
            "anchor_predictions",
            "error_counts",
            "question_error_counts",
        ),
        RUN_COLUMNS,
    ),
    **dict.fromkeys(("samples", "triplets"), EDITION_COLUMNS),
    "responses": ("model_id",),
}
SHADOWED_FOR_EDITIONS = dict.fromkeys(
    ("triplets", "samples", "questions", "guesses", "point_clusters"), EDITION_COLUMNS
)
SHADOWED_FOR_ESTIMATES = dict.fromkeys(
    (
        "questions",
        "question_slots",
        "point_clusters",
        "point_scores",
        "facet_sets",
        "facet_scores",
        "mastered_scores",
    ),
    EDITION_COLUMNS,
)


def refresh_editions(connection: duckdb.DuckDBPyConnection, editions: Iterable[str]) -> None:
    """Compute the sums over these editions; clusters and freshness are those of all editions together."""
    _refresh(connection, "freshness_counts", ())
    scope = [(edition_id,) for edition_id in editions]
    for cluster_table, names in (
        ("pair_clusters", ("shortcut_scores", "question_slots")),
        ("point_clusters", ("facet_sets",)),
    ):
        _refresh(connection, cluster_table, ())
        with _limit(connection, EDITION_COLUMNS, scope, SHADOWED_FOR_EDITIONS):
            for name in names:
                _refresh(connection, name, EDITION_COLUMNS)


def refresh_runs(connection: duckdb.DuckDBPyConnection, runs: Iterable[Run]) -> None:
    """Compute the sums over what these models answered to these editions."""
    for batch in _cut_batches(connection, sorted(runs)):
        with _limit(connection, RUN_COLUMNS, batch, SHADOWED_FOR_RUNS):
            for name in OF_RUN:
                _refresh(connection, name, RUN_COLUMNS)


def list_editions_with_questions(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the editions that need estimates or have them: those that have questions, or had some before."""
    if not catalogue.ESTIMATES:
        return set()
    tables = ("questions", *catalogue.ESTIMATES)
    query = " union ".join(f"select edition_id from {table}" for table in tables)
    return {str(edition_id) for (edition_id,) in connection.execute(query).fetchall()}


def number_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """Give all runs and clusters the numbers that they have if everything is loaded at once."""
    connection.execute(read_sql("number_runs.sql"))
    if catalogue.ESTIMATES:
        connection.execute(read_sql("number_estimates.sql"))


def refresh_estimates(connection: duckdb.DuckDBPyConnection, editions: Iterable[str]) -> None:
    """Compute the estimates of these editions from their sums."""
    with _limit(
        connection, EDITION_COLUMNS, [(edition_id,) for edition_id in editions], SHADOWED_FOR_ESTIMATES
    ):
        for name in catalogue.ESTIMATES:
            _refresh(connection, name, EDITION_COLUMNS)


@contextmanager
def _limit(
    connection: duckdb.DuckDBPyConnection,
    columns: Sequence[str],
    scope: Sequence[Sequence[str]],
    shadowed: Mapping[str, Sequence[str]],
) -> Iterator[None]:
    """Let the names of tables stand for their rows in the scope, until the end of the block.

    Args:
        columns: those whose values the scope lists.
        shadowed: table -> those of the columns that it has.
    """
    schema = _name_schema(connection)
    kinds = ", ".join(f"{column} varchar" for column in columns)
    connection.execute(f"create or replace temp table scope ({kinds})")
    marks = ", ".join("?" for _ in columns)
    if scope:
        connection.executemany(f"insert into scope values ({marks})", scope)
    for table, own in shadowed.items():
        source = SOURCES.get(table, f"{schema}.{table}")
        connection.execute(f"create temp view {table} as from {source} {_select_scope(own)}")
    try:
        yield
    finally:
        for table in shadowed:
            connection.execute(f"drop view temp.{table}")


def _refresh(connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str]) -> None:
    """Replace the rows of a table whose columns are in the scope, or all rows if there are no columns."""
    table = f"{_name_schema(connection)}.{name}"
    connection.execute(f"delete from {table} {_select_scope(columns) if columns else ''}")
    connection.execute(f"insert into {table} {read_query(name)}")


def _select_scope(columns: Sequence[str]) -> str:
    names = ", ".join(columns)
    return f"where ({names}) in (select distinct {names} from scope)"


def _name_schema(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the name of the schema of the tables, so that a temporary view cannot shadow them."""
    (name,) = connection.execute("select current_database()").fetchone() or ("memory",)
    return f'"{name}".main'


def _cut_batches(connection: duckdb.DuckDBPyConnection, runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Yield the runs in order, as many at a time as have BATCH_ROWS predictions of samples."""
    counted = connection.execute(
        "select edition_id, model_id, count(*) from predictions group by edition_id, model_id"
    ).fetchall()
    n_rows = {(edition_id, model_id): n for edition_id, model_id, n in counted}
    batch: list[Run] = []
    for run in runs:
        if batch and sum(n_rows.get(each, 0) for each in [*batch, run]) > BATCH_ROWS:
            yield batch
            batch = []
        batch.append(run)
    if batch:
        yield batch
