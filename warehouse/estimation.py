"""Compute the tables of scores whose observations are queried: shares, means and differences.

Each has an SQL file in `estimated/`. Its first part makes the temporary table `observations`, with a row per
score and unit:

- key, measure: of any type, which name the score;
- head_cluster, positive_tail_cluster, negative_tail_cluster: the clusters of the unit (pair_clusters.sql);
- gained, n: right and all observations of the positive triplet; negative_gained, negative_n: those of the
  negative one. Without these two columns, or where both are null, the unit is observed as a whole;
- lost, negative_lost: of a difference, the observations that only the second score got right. gained has
  those that only the first one did;
- n_most: the most independent observations that the unit can amount to.

The second part makes the table. It reads the temporary table `estimates`, which has a row per key and
measure: share (or difference), n_pairs (units), n_observations, ci_low, ci_high, fixed_base_ci_low,
fixed_base_ci_high, p_value and n_effective.
"""

from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from pretexeval.statistics.clusters import Codes, Floats, Observations, Spread, measure_spread
from pretexeval.statistics.intervals import Estimates
from warehouse.evaluations import number_clusters

HERE = "-- The estimates of these observations are computed here (estimation.py).\n"
KEYS = """
create or replace temp table estimated as
select key, measure, row_number() over (order by key, measure) - 1 as number
from (select distinct key, measure from observations)
"""
OBSERVED = """
select estimated.number, observations.* exclude (key, measure)
from observations
inner join estimated using (key, measure)
order by all
"""
ESTIMATES = """
create or replace temp table estimates as
select key, measure, computed.* exclude (number)
from estimated
inner join computed using (number)
"""
COMPUTED = {
    "number": pl.Int64,
    **dict.fromkeys(("n_pairs", "n_observations"), pl.Int64),
    **dict.fromkeys(("share", "ci_low", "ci_high", "fixed_base_ci_low", "fixed_base_ci_high"), pl.Float64),
    **dict.fromkeys(("p_value", "n_effective"), pl.Float64),
}


def create_estimated(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Run the statements of an SQL file, and compute the estimates where they are needed."""
    observations, table = sql.split(HERE, maxsplit=1)
    connection.execute(observations)
    connection.execute(KEYS)
    rows = connection.sql(OBSERVED).pl()
    connection.register("computed", estimate(rows).to_arrow())
    connection.execute(ESTIMATES)
    connection.unregister("computed")
    connection.execute(table)
    temporary = connection.execute("select table_name from duckdb_tables() where temporary").fetchall()
    for (name,) in temporary:
        connection.execute(f"drop table {name}")


def estimate(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per number of the observations; the columns are those of `estimates`."""
    if rows.is_empty():
        return pl.DataFrame(schema=COMPUTED)
    heads, tails = number_clusters(rows)
    gained, lost, n = (
        np.stack([_read_counts(rows, name), _read_counts(rows, f"negative_{name}")], axis=1)
        for name in ("gained", "lost", "n")
    )
    most = _read_counts(rows, "n_most")
    starts = np.nonzero(rows["number"].diff().fill_null(1).to_numpy())[0]
    numbers, spreads = [], []
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        own = slice(int(start), int(end))
        spread = _measure(gained[own], lost[own], n[own], most[own], heads[own], tails[own])
        if spread is not None:
            numbers.append(rows["number"][int(start)])
            spreads.append(spread)
    computed = Estimates(spreads).tabulate().rename({"score": "share"})
    return (
        computed.with_columns(number=pl.Series(numbers, dtype=pl.Int64))
        .select(list(COMPUTED))
        .cast(pl.Schema(COMPUTED))
    )


def _read_counts(rows: pl.DataFrame, name: str) -> Floats:
    """Return a column of counts, with nan for null; all nan if the observations lack the column."""
    return rows[name].cast(pl.Float64).to_numpy() if name in rows.columns else np.full(len(rows), np.nan)


def _measure(
    gained: Floats, lost: Floats, n: Floats, most: Floats, heads: Codes, tails: Codes
) -> Spread | None:
    """Return what the interval of one score needs; None if nothing was observed."""
    sides = 1 if np.isnan(n[:, 1]).all() else 2
    is_difference = not np.isnan(lost[:, :sides]).all()
    gained, lost, n = (np.nan_to_num(counts[:, :sides]) for counts in (gained, lost, n))
    n_most = None if np.isnan(most).all() else np.where(np.isnan(most), n.sum(1), most)
    heads, tails = _renumber(heads), _renumber(tails)
    return measure_spread(Observations(gained, n, heads, tails, lost if is_difference else None, n_most))


def _renumber(codes: npt.NDArray[Any]) -> Codes:
    """Return small numbers for few clusters, so that the sums over clusters are short."""
    if codes.size * 8 > codes.max():
        return codes
    return np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
