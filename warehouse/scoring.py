"""Compute the tables `scores` and `differences` and the label audit, and keep their rows as Parquet files.

An edition has a file for each of them under the root. Its rows are grouped by what was computed at once, such
as the scores of a model or its differences from another one, with a hash of everything that they depend on. A
publication computes only those whose hash is new, so that one more model leaves the scores of the others as
they are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.primitives.hashing import hash_files, hash_json
from pretexeval.statistics import clusters, intervals
from pretexeval.storage.files import write_atomically
from pretexeval.storage.layout import SCORES_FOLDER
from warehouse import differences, evaluations, label_audit, means, scores
from warehouse.evaluations import Evaluation, Pairs, read_evaluations, read_pairs

Schema = dict[str, Any]
"""The columns of a table, with their types."""
EDITIONS = """
select edition_id, kb
from editions
semi join sample_scores using (edition_id)
order by period_start nulls last, edition_id
"""
PERIODS = """
select period
from runs
where edition_id = $edition_id and period is not null
group by period
order by min(period_start) nulls last, period
"""
ANSWERS = """
select model_id, count(*), bit_xor(hash(sample_scores))
from sample_scores
where edition_id = $edition_id
group by model_id
order by model_id
"""
# McNemar's test of mastery, with the base held fixed (macros.sql).
MCNEMAR = "".join(
    f", case when measure = 'mastery' then {test}(n_gained, n_lost) end as {test}"
    for test in ("mcnemar_p", "mcnemar_mid_p")
)
OF_EDITION = ("triplets", "storage.pair_clusters", "shortcut_scores", "storage.pair_groups")
OF_MODEL = ("storage.taught_pairs", "storage.cutoff_pairs")
"""Tables on which scores depend besides the answers, by edition and by model."""


@dataclass(frozen=True)
class Unit:
    """Rows that are computed at once."""

    key: str
    """A hash of everything that they depend on."""
    compute: Callable[[], pl.DataFrame]


class EditionScorer:
    """Scores the evaluations of an edition."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, edition_id: str) -> None:
        """Take the database, in which the tables of answers are filled."""
        self._connection, self.edition_id = connection, edition_id
        of_edition = [self._hash(table) for table in OF_EDITION]
        answers = connection.execute(ANSWERS, {"edition_id": edition_id}).fetchall()
        self.inputs = {model_id: [*contents, of_edition] for model_id, *contents in answers}
        self.periods = [
            name for (name,) in connection.execute(PERIODS, {"edition_id": edition_id}).fetchall()
        ]
        self._pairs: Pairs | None = None
        self._evaluations: dict[str, list[Evaluation]] = {}

    def _hash(self, table: str, condition: str = "true") -> tuple[int, int | None]:
        """Return the number and a hash of the rows of the edition, which does not depend on their order."""
        ((n_rows, contents),) = self._connection.execute(
            f"select count(*), bit_xor(hash(rows)) from {table} as rows where edition_id = ? and {condition}",
            [self.edition_id],
        ).fetchall()
        return n_rows, contents

    def read(self, model_id: str) -> list[Evaluation]:
        """Return the evaluations of a model."""
        if self._pairs is None:
            self._pairs = read_pairs(self._connection, self.edition_id)
        if model_id not in self._evaluations:
            self._evaluations[model_id] = read_evaluations(self._connection, self._pairs, model_id)
        return self._evaluations[model_id]

    def list_scores(self) -> Iterator[Unit]:
        """Yield the scores of each model."""
        for model_id, inputs in self.inputs.items():
            condition = f"model_id = '{model_id}'"
            others = [self._hash(table, condition) for table in OF_MODEL]
            compute = partial(self._score, model_id)
            yield Unit(_key_inputs("scores", model_id, inputs, others), compute)

    def _score(self, model_id: str) -> pl.DataFrame:
        return scores.score_evaluations(self._connection, self.read(model_id))

    def list_differences(self) -> Iterator[Unit]:
        """Yield the differences of each model from itself, and from each other model."""
        for model_id, inputs in self.inputs.items():
            compute = partial(self._compare_alone, model_id)
            yield Unit(_key_inputs("alone", model_id, inputs, self.periods), compute)
        for one, other in combinations(sorted(self.inputs), 2):
            both = [self.inputs[one], self.inputs[other]]
            yield Unit(_key_inputs("models", one, other, *both), partial(self._compare_two, one, other))

    def _compare_alone(self, model_id: str) -> pl.DataFrame:
        answered = self.read(model_id)
        of_periods = differences.compare_periods(answered, self.periods)
        return differences.measure_differences([*differences.compare_methods(answered), *of_periods])

    def _compare_two(self, one: str, other: str) -> pl.DataFrame:
        return differences.measure_differences(differences.compare_models(self.read(one), self.read(other)))

    def list_changes(self, earlier: "EditionScorer") -> Iterator[Unit]:
        """Yield the differences of each model from an earlier edition of the base."""
        for model_id in self.inputs.keys() & earlier.inputs.keys():
            both = [earlier.inputs[model_id], self.inputs[model_id]]
            compute = partial(self._compare_editions, earlier, model_id)
            yield Unit(_key_inputs("editions", earlier.edition_id, model_id, *both), compute)

    def _compare_editions(self, earlier: "EditionScorer", model_id: str) -> pl.DataFrame:
        before, now = earlier.read(model_id), self.read(model_id)
        return differences.measure_differences(differences.compare_editions(before, now))

    def list_audits(self) -> Iterator[Unit]:
        """Yield the audit of the labels by all models."""
        others = [self._hash(table) for table in ("storage.taught_pairs", "human_verdicts")]
        yield Unit(_key_inputs("audit", self.inputs, others), self._audit)

    def _audit(self) -> pl.DataFrame:
        chosen = [label_audit.choose_evaluation(self.read(model_id)) for model_id in self.inputs]
        return label_audit.audit_edition(self._connection, [own for own in chosen if own is not None])

    def forget(self) -> None:
        """Free the memory of the evaluations."""
        self._evaluations.clear()


def _key_inputs(*parts: object) -> str:
    """Return the key of a unit: a hash of its name, of what it depends on, and of the code."""
    return hash_json([hash_code(), duckdb.__version__, *parts])


@cache
def hash_code() -> str:
    """Return a hash of the code that computes scores; its results are cheap enough to be computed again."""
    modules = (clusters, intervals, evaluations, means, scores, differences, label_audit)
    return hash_files(Path(str(module.__file__)) for module in modules)


def create_scores(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Create both tables, audit the labels in triplets, and remove the files of editions that are gone."""
    folder = root / SCORES_FOLDER
    rows: dict[ModuleType, list[pl.DataFrame]] = {
        table: [pl.DataFrame(schema=table.SCHEMA)] for table in (scores, differences, label_audit)
    }
    bases: dict[str, list[EditionScorer]] = {}
    files: set[Path] = set()
    for edition_id, kb in connection.execute(EDITIONS).fetchall():
        edition, earlier = EditionScorer(connection, edition_id), bases.setdefault(kb, [])
        units = {scores: list(edition.list_scores()), differences: list(edition.list_differences())}
        units[differences] += [unit for other in earlier for unit in edition.list_changes(other)]
        units[label_audit] = list(edition.list_audits())
        for table, of_table in units.items():
            path = folder / edition_id / f"{table.__name__.rpartition('.')[2]}.parquet"
            files.add(path)
            rows[table].append(provide_rows(path, of_table, table.SCHEMA))
        earlier.append(edition)
        for other in earlier:
            other.forget()
    _create(connection, "scores", pl.concat(rows[scores]).sort(*scores.ORDER))
    adjusted = differences.adjust(pl.concat(rows[differences]))
    _create(connection, "differences", adjusted.sort(*differences.ORDER), MCNEMAR)
    label_audit.insert_audit(connection, pl.concat(rows[label_audit]))
    for path in set(folder.glob("*/*.parquet")) - files:
        path.unlink()


def provide_rows(path: Path, units: list[Unit], schema: Schema) -> pl.DataFrame:
    """Return the rows of the units; compute those that the file lacks, and write the file if it differs."""
    columns: Schema = {"unit": pl.String, **schema}
    try:
        kept = pl.DataFrame(pq.ParquetFile(path, page_checksum_verification=True).read())
        kept = kept.select(list(columns)).cast(pl.Schema(columns))
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError):
        kept = pl.DataFrame(schema=columns)
    wanted = {unit.key for unit in units}
    known = set(kept["unit"])
    new = [_compute(unit, columns) for unit in units if unit.key not in known]
    rows = pl.concat([kept.filter(pl.col("unit").is_in(wanted)), *new])
    if new or known - wanted:
        with write_atomically(path) as temporary, temporary.open("wb") as file:
            pq.write_table(rows.to_arrow(), file, compression="zstd", write_page_checksum=True)
    return rows.filter(pl.col(next(iter(schema))).is_not_null()).drop("unit")


def _compute(unit: Unit, columns: Schema) -> pl.DataFrame:
    """Return the rows of a unit; one without rows has an empty one, so that it counts as computed."""
    rows = unit.compute()
    if rows.is_empty():
        rows = pl.DataFrame({"unit": [unit.key]})
    return pl.concat([pl.DataFrame(schema=columns), rows.with_columns(unit=pl.lit(unit.key))], how="diagonal")


def _create(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame, more: str = "") -> None:
    connection.register("computed", rows.to_arrow())
    connection.execute(f"create table {table} as select *{more} from computed")
    connection.unregister("computed")
