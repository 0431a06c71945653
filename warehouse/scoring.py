"""Compute the tables `scores` and `differences`, and keep them as Parquet files under the root.

The files of an edition are named by a hash of everything that its scores depend on, so that a publication
computes only what has changed. Files that the last publication did not need are removed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import write_atomically
from pretexeval.storage.layout import SCORES_FOLDER
from warehouse import differences, scores
from warehouse.differences import (
    Side,
    compare_editions,
    compare_evaluations,
    compare_periods,
    measure_differences,
    take_samples,
)
from warehouse.evaluations import Evaluation, read_evaluations
from warehouse.scores import score_evaluations

SCORES_VERSION = 1
"""Count it up when the same answers give other scores or differences."""
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
INPUTS = (
    "sample_scores",
    "pair_clusters",
    "shortcut_scores",
    "storage.pair_groups",
    "storage.taught_pairs",
    "storage.cutoff_pairs",
)
"""The tables that the scores of an edition depend on, each with its edition_id."""


def _create(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    connection.register("computed", rows.to_arrow())
    connection.execute(f"create table {table} as from computed")
    connection.unregister("computed")


class Scorer:
    """Scores the evaluations of a root."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, root: Path) -> None:
        """Take the database, in which the tables of answers are filled."""
        self._connection, self._folder = connection, root / SCORES_FOLDER
        self._used: set[Path] = set()
        self._evaluations: dict[str, list[Evaluation]] = {}
        self._sides: dict[str, list[Side]] = {}

    def create_tables(self) -> None:
        """Create both tables, and remove the files that they do not need."""
        editions = self._connection.execute(EDITIONS).fetchall()
        inputs = {edition_id: self._hash_inputs(edition_id) for edition_id, _ in editions}
        of_scores, of_differences = (
            [pl.DataFrame(schema=scores.SCHEMA)],
            [pl.DataFrame(schema=differences.SCHEMA)],
        )
        bases: dict[str, list[str]] = {}
        for edition_id, kb in editions:
            own = [inputs[edition_id]]
            of_scores.append(self._provide("scores", edition_id, own, self._score))
            of_differences.append(self._provide("differences", edition_id, own, self._compare))
            earlier = bases.setdefault(kb, [])
            if earlier:
                all_inputs = [*own, *(inputs[name] for name in earlier)]
                compare = partial(self._compare_with, tuple(earlier))
                of_differences.append(self._provide("other-editions", edition_id, all_inputs, compare))
            earlier.append(edition_id)
            self._evaluations.pop(edition_id, None)
        _create(self._connection, "scores", pl.concat(of_scores).sort(*scores.ORDER))
        _create(self._connection, "differences", pl.concat(of_differences).sort(*differences.ORDER))
        for path in set(self._folder.glob("*/*.parquet")) - self._used:
            path.unlink()

    def _hash_inputs(self, edition_id: str) -> list[object]:
        """Return hashes of the rows of an edition, which do not depend on their order."""
        counted = [
            self._connection.execute(
                f"select count(*), bit_xor(hash(rows)) from {table} as rows where edition_id = ?",
                [edition_id],
            ).fetchone()
            for table in INPUTS
        ]
        return [duckdb.__version__, *counted, self._list_periods(edition_id)]

    def _list_periods(self, edition_id: str) -> list[str]:
        found = self._connection.execute(PERIODS, {"edition_id": edition_id}).fetchall()
        return [period for (period,) in found]

    def _provide(
        self, kind: str, edition_id: str, inputs: Sequence[object], compute: Callable[[str], pl.DataFrame]
    ) -> pl.DataFrame:
        """Return the rows of a file, which is written if it is missing or damaged."""
        key = hash_json([SCORES_VERSION, kind, *inputs])
        path = self._folder / edition_id / f"{kind}-{key}.parquet"
        self._used.add(path)
        try:
            return pl.DataFrame(pq.ParquetFile(path, page_checksum_verification=True).read())
        except (OSError, pa.ArrowException):
            rows = compute(edition_id)
        with write_atomically(path) as temporary, temporary.open("wb") as file:
            pq.write_table(rows.to_arrow(), file, compression="zstd", write_page_checksum=True)
        return rows

    def _score(self, edition_id: str) -> pl.DataFrame:
        return score_evaluations(self._connection, self._read(edition_id))

    def _compare(self, edition_id: str) -> pl.DataFrame:
        evaluations = self._read(edition_id)
        periods = compare_periods(evaluations, self._list_periods(edition_id))
        return measure_differences([*compare_evaluations(evaluations), *periods])

    def _compare_with(self, earlier: Sequence[str], edition_id: str) -> pl.DataFrame:
        later = self._take_sides(edition_id)
        return measure_differences(
            [each for name in earlier for each in compare_editions(self._take_sides(name), later)]
        )

    def _read(self, edition_id: str) -> list[Evaluation]:
        if edition_id not in self._evaluations:
            self._evaluations[edition_id] = read_evaluations(self._connection, edition_id)
        return self._evaluations[edition_id]

    def _take_sides(self, edition_id: str) -> list[Side]:
        """Return the answers to samples of an edition, without those of anchors."""
        if edition_id not in self._sides:
            scored = [each for each in self._read(edition_id) if each.key["period"] is None]
            self._sides[edition_id] = [take_samples(each) for each in scored]
        return self._sides[edition_id]
