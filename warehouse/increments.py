"""Bring the tables up to date with a root: delete what is gone, load what is new, and add both up."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import duckdb
import polars as pl

from pretexeval.primitives.errors import InputError
from warehouse import catalogue
from warehouse.catalogue import read_query
from warehouse.model_loading import drop_unused_prompts, list_touched_editions, remember_responses
from warehouse.parts import Part
from warehouse.records import RecordMissing

logger = logging.getLogger(__name__)


# Predictions whose sums are computed at once: one model on all of MedLAMA. Two at once save no time.
BATCH_ROWS = 300_000
Run = tuple[str, str]
"""An edition and a model."""
OF_SCOPED_EDITIONS = "edition_id in (select edition_id from storage.scope)"
OF_SCOPED_RUNS = "(edition_id, model_id) in (select edition_id, model_id from storage.scope)"
# Table -> the rows that are computed again, in the order in which the tables are computed.
OF_EDITION = dict.fromkeys(
    ("pair_clusters", "shortcut_scores", "point_clusters"), OF_SCOPED_EDITIONS
)
OF_RUN = {
    **dict.fromkeys(
        ("error_counts", "sample_scores", "unsure_counts", "pair_scores", "token_usage", "calibration_bins"),
        OF_SCOPED_RUNS,
    ),
    **dict.fromkeys(("point_scores", "point_mastery"), OF_SCOPED_RUNS),
}


def refresh_editions(connection: duckdb.DuckDBPyConnection, editions: Iterable[str]) -> None:
    """Compute the sums over these editions; freshness compares all editions with each other."""
    _refresh(connection, {"freshness": "true"})
    _refresh(connection, OF_EDITION, [(edition_id, None) for edition_id in editions])


def refresh_runs(connection: duckdb.DuckDBPyConnection, runs: Iterable[Run]) -> None:
    """Compute the sums and scores of what these models answered to these editions."""
    for batch in _cut_batches(connection, sorted(runs)):
        _refresh(connection, OF_RUN, batch)


def _refresh(
    connection: duckdb.DuckDBPyConnection,
    tables: Mapping[str, str],
    scope: Sequence[tuple[str, str | None]] = (),
) -> None:
    """Replace rows of each table.

    Args:
        tables: table -> the condition of its rows.
        scope: what the queries of the tables compute: editions with a model, or with None for all models.
    """
    if scope:
        connection.executemany("insert into storage.scope values (?, ?)", scope)
    for name, condition in tables.items():
        connection.execute(f"delete from {name} where {condition}")
        connection.execute(f"insert into {name} {read_query(name)}")
    connection.execute("delete from storage.scope")


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


# The tables with the rows of a part, by its kind.
TABLES = {
    "edition": ("editions", "label_risks", "triplets", "samples", "variants", "attempts", "questions"),
    "guesses": ("guesses",),
    "diversity": ("sample_diversity",),
    "writer_tokens": ("writer_tokens",),
    "freshness_limit": ("storage.freshness_limits",),
    "grades": ("human_grades",),
    "model": ("models", "storage.responses"),
    "run": ("runs", "predictions", "storage.run_checks"),
    "question_run": ("runs", "question_answers", "question_predictions", "storage.run_checks"),
    "unsure_run": ("runs", "unsure_predictions", "storage.run_checks"),
    "anchor_run": ("runs", "anchor_predictions"),
    "failure": ("failures",),
    "checks": ("storage.edition_checks",),
}
RUN_KINDS = ("run", "question_run", "unsure_run", "anchor_run")
Load = Callable[[Part], None]
Parts = Mapping[str, Part]
"""Path under the root -> part, in the order in which they must be loaded."""


class LoadedPart(NamedTuple):
    """What became of a part: a row of storage.loaded_parts."""

    path: str
    kind: str
    key: str
    fingerprint: str
    problem: str | None
    """Why it was left out, or null."""
    is_incomplete: bool
    """Whether it was left out only because it lacks a record, as after an interrupted run."""


LoadedParts = dict[str, LoadedPart]
"""Path under the root -> what became of the part."""


def read_loaded_parts(connection: duckdb.DuckDBPyConnection) -> LoadedParts:
    """Return what became of every part when the tables were filled."""
    rows = connection.execute("from storage.loaded_parts").fetchall()
    return {row[0]: LoadedPart(*row) for row in rows}


def write_loaded_parts(connection: duckdb.DuckDBPyConnection, loaded_parts: LoadedParts) -> None:
    """Replace what is known of all parts."""
    columns = dict.fromkeys(LoadedPart._fields, pl.String) | {"is_incomplete": pl.Boolean}
    connection.execute("delete from storage.loaded_parts")
    connection.register("found", pl.DataFrame(list(loaded_parts.values()), columns, orient="row").to_arrow())
    connection.execute("insert into storage.loaded_parts from found")
    connection.unregister("found")


def is_current(loaded_parts: LoadedParts, parts: Parts) -> bool:
    """Return whether the tables were filled from exactly these parts."""
    fingerprints = {name: part.fingerprint for name, part in parts.items()}
    return fingerprints == {name: loaded.fingerprint for name, loaded in loaded_parts.items()}


def report_left_out(loaded_parts: Iterable[LoadedPart]) -> list[str]:
    """Log which parts are incomplete, and return why others contradict their records."""
    left_out = [loaded for loaded in loaded_parts if loaded.problem is not None]
    # All evaluations of one model lack the same record.
    for text in dict.fromkeys(loaded.problem for loaded in left_out if loaded.is_incomplete):
        logger.warning("%s", text)
    return [str(loaded.problem) for loaded in left_out if not loaded.is_incomplete]


class Increment:
    """What must be deleted from the tables and loaded into them, so that they agree with a root."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, parts: Parts, load: Load) -> None:
        """Compare the parts with those of which the tables were filled. What was left out is tried again.

        Args:
            load: inserts the rows of a part; raises InputError if it must be left out.
        """
        self._connection, self._parts, self._load = connection, parts, load
        self._before = read_loaded_parts(connection)
        self._sound = {
            name: loaded
            for name, loaded in self._before.items()
            if name in parts and (parts[name].fingerprint, None) == (loaded.fingerprint, loaded.problem)
        }
        self._changed = [loaded for name, loaded in self._before.items() if name not in self._sound]

    def apply(self) -> LoadedParts:
        """Delete and load rows, compute the sums that this concerns, and return what became of all parts."""
        for loaded in self._changed:
            # What a model answered before is compared with what it answers now (_load_model).
            if loaded.kind != "model" or loaded.path not in self._parts:
                self._delete(loaded)
        loaded_parts: LoadedParts = {}
        for name, part in self._parts.items():
            loaded_parts[name] = self._sound.get(name) or self._load_changed(name, part)
        self._refresh()
        return loaded_parts

    def _load_changed(self, name: str, part: Part) -> LoadedPart:
        if part.kind == "model" and name in self._before:
            loaded = self._load_model(name, part)
        else:
            loaded = self._try_to_load(name, part)
        self._changed.append(loaded)
        return loaded

    def _load_model(self, name: str, part: Part) -> LoadedPart:
        """Replace the responses of a model; find the runs that used one that is now gone or another."""
        model_id = str(part.key["model_id"])
        remember_responses(self._connection, model_id)
        self._delete(self._before[name])
        loaded = self._try_to_load(name, part)
        touched = list_touched_editions(self._connection, model_id)
        for each in [each for each in self._sound.values() if each.kind in RUN_KINDS]:
            key = json.loads(each.key)
            if key["model_id"] == model_id and key["edition_id"] in touched:
                self._delete(self._sound.pop(each.path))
        return loaded

    def _try_to_load(self, name: str, part: Part) -> LoadedPart:
        """Load a part in a transaction of its own, so that one that cannot be loaded leaves the others."""
        problem, is_incomplete = None, False
        self._connection.begin()
        try:
            self._load(part)
        except InputError as error:
            self._connection.rollback()
            problem, is_incomplete = str(error), isinstance(error, RecordMissing)
        except BaseException:
            self._connection.rollback()
            raise
        else:
            self._connection.commit()
        return LoadedPart(name, part.kind, json.dumps(part.key), part.fingerprint, problem, is_incomplete)

    def _delete(self, loaded: LoadedPart) -> None:
        key = json.loads(loaded.key)
        for table in TABLES[loaded.kind]:
            columns = [column for column, *_ in self._connection.execute(f"describe {table}").fetchall()]
            own = {column: value for column, value in key.items() if column in columns}
            where = " and ".join(f"{column} is not distinct from ${column}" for column in own) or "true"
            self._connection.execute(f"delete from {table} where {where}", own)

    def _refresh(self) -> None:
        """Compute the sums over everything that was deleted or loaded."""
        keys = [(loaded.kind, json.loads(loaded.key)) for loaded in self._changed]
        editions = {key["edition_id"] for kind, key in keys if kind in ("edition", "guesses")}
        runs = {(key["edition_id"], key["model_id"]) for kind, key in keys if kind in RUN_KINDS}
        if editions:
            refresh_editions(self._connection, editions)
        if runs:
            refresh_runs(self._connection, runs)
        if any(kind == "model" for kind, _ in keys):
            drop_unused_prompts(self._connection)
