"""Measure how often the intervals of a fixed base contain the true value, on simulated editions.

The pair is the only cluster there. benchmarks/clustered_coverage.py measures the intervals for new facts.

`python -m benchmarks.interval_coverage` prints the tables of docs/statistics.md. The intervals come from the
warehouse's own macros: one query computes them for all simulated editions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from scipy.stats import binom

from warehouse.catalogue import create_tables

K = 16
SIZES = (20, 100, 500)
ACCURACIES = (0.02, 0.5, 0.98)
CLUSTERING = {"none": 0.0, "strong": 0.5}
"""Intra-class correlation of the samples of a pair: 0 if they are independent, 1 if the pair decides all."""
N_EDITIONS = 5000
N_PAIRED_EDITIONS = 2000
DIFFERENCES = ((0.02, 0.02), (0.02, 0.1), (0.5, 0.5), (0.5, 0.6), (0.98, 0.98), (0.98, 0.9))
DISCORDANCE = (0.02, 0.1, 0.3, 1.0)

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class EditionKind:
    """A kind of simulated edition: number of pairs, true accuracies, and correlation of samples."""

    n_pairs: int
    accuracies: tuple[float, ...]
    clustering: str


def list_kinds(accuracies: tuple[tuple[float, ...], ...]) -> list[EditionKind]:
    """Return one kind per edition size, accuracy and clustering."""
    return [EditionKind(*values) for values in product(SIZES, accuracies, CLUSTERING)]


def draw_chances(rng: np.random.Generator, accuracy: float, clustering: str, shape: tuple[int, int]) -> Array:
    """Return the chance of a right sample per pair: the accuracy, or a draw from a beta around it."""
    rho = CLUSTERING[clustering]
    if rho == 0:
        return np.full(shape, accuracy)
    scale = (1 - rho) / rho
    return rng.beta(accuracy * scale, (1 - accuracy) * scale, shape)


def average_coverage(seed: int) -> dict[EditionKind, tuple[float, float]]:
    """Return per kind how often the interval of average accuracy contains the truth, and its mean width.

    The query gets histograms of pairs, as in joint_accuracy_curve: 0.7 million rows instead of 18.6 million.
    """
    rng = np.random.default_rng(seed)
    kinds = list_kinds(tuple((p,) for p in ACCURACIES))
    blocks = []
    for k, kind in enumerate(kinds):
        chances = draw_chances(rng, kind.accuracies[0], kind.clustering, (N_EDITIONS, kind.n_pairs))
        right = rng.binomial(K, chances)
        flat = np.repeat(np.arange(N_EDITIONS), kind.n_pairs) * (K + 1) + right.ravel()
        counts = np.bincount(flat, minlength=N_EDITIONS * (K + 1))
        edition, c = np.divmod(np.flatnonzero(counts), K + 1)
        blocks.append(
            pa.table(
                {
                    "cell": np.full(len(c), k),
                    "truth": np.full(len(c), kind.accuracies[0]),
                    "edition": edition,
                    "c": c,
                    "w": counts[counts > 0],
                }
            )
        )
    rows = _ask(
        pa.concat_tables(blocks),
        f"""
        with sums as (
            select cell, edition, any_value(truth) as truth, share(w * c, w * {K}) as p,
                observe(c, {K}, w) as observed
            from simulated group by cell, edition
        ),
        sizes as (
            select cell, truth, p, effective_n(observed) as n from sums
        )
        select cell, avg((truth between wilson_low(p, n) and wilson_high(p, n))::integer),
            avg(wilson_high(p, n) - wilson_low(p, n))
        from sizes group by cell order by cell
        """,
    )
    return {kinds[k]: (covered, width) for k, covered, width in rows}


def difference_coverage(seed: int) -> dict[EditionKind, tuple[float, float]]:
    """Return per kind how often the interval of the paired difference contains it, and its mean width.

    In half of the pairs both models have the same chance of a right sample; in the others the second model's
    chance is drawn independently.
    """
    rng = np.random.default_rng(seed)
    kinds = list_kinds(DIFFERENCES)
    rows: list[tuple[Any, ...]] = []
    for k, kind in enumerate(kinds):
        p, q = kind.accuracies
        shape = (N_PAIRED_EDITIONS, kind.n_pairs)
        mine = draw_chances(rng, p, kind.clustering, shape)
        theirs = np.where(rng.random(shape) < 0.5, mine, draw_chances(rng, q, kind.clustering, shape))
        # A sample is gained with the chance a(1 − b) and lost with the chance (1 − a)b.
        gained = rng.binomial(K, mine * (1 - theirs))
        rest = (1 - mine) * theirs / np.maximum(1 - mine * (1 - theirs), 1e-12)
        lost = rng.binomial(K - gained, np.minimum(rest, 1))
        block = pa.table(
            {
                "edition": np.repeat(np.arange(N_PAIRED_EDITIONS), kind.n_pairs),
                "g": gained.ravel(),
                "l": lost.ravel(),
            }
        )
        rows += _ask(
            block,
            f"""
            with sums as (
                select paired(g, l, {K}) as d from simulated group by edition
            ),
            sizes as (
                select d.gained.share as g, d.lost.share as l, d.correlation as r,
                    effective_n(d.gained) as n_g, effective_n(d.lost) as n_l
                from sums
            ),
            limits as (
                select mover_low(g, l, n_g, n_l, r) as low, mover_high(g, l, n_g, n_l, r) as high from sizes
            )
            select {k}, avg(({(p - q) / 2} between low and high)::integer), avg(high - low) from limits
            """,
        )
    return {kinds[k]: (covered, width) for k, covered, width in rows}


def mastery_coverage() -> dict[tuple[int, float], float]:
    """Return how often Wilson's interval contains the mastery, by pairs and mastery; the sums are exact."""
    rows = _ask(
        pa.table({"n": list(SIZES)}),
        "select n, k, wilson_low(k / n, n), wilson_high(k / n, n) "
        "from (select n, unnest(range(0, n + 1)) as k from simulated)",
    )
    covered: dict[tuple[int, float], float] = {}
    for size, p in product(SIZES, ACCURACIES):
        covering = [k for n, k, low, high in rows if n == size and low <= p <= high]
        covered[size, p] = float(binom.pmf(covering, size, p).sum())
    return covered


def mcnemar_rejections(seed: int) -> dict[tuple[int, float], float]:
    """Return how often p ≤ 0.05 although neither model is better, by pairs and share of discordant pairs."""
    rng = np.random.default_rng(seed)
    cells = list(product(SIZES, DISCORDANCE))
    n_differ = np.array([rng.binomial(n, share, N_EDITIONS) for n, share in cells])
    table = pa.table(
        {
            "cell": np.repeat(np.arange(len(cells)), N_EDITIONS),
            "n": n_differ.ravel(),
            "b": rng.binomial(n_differ, 0.5).ravel(),
        }
    )
    rows = _ask(
        table,
        "with tested as ("
        "select b, n, mcnemar_p(b, n - b) as p from (select distinct b, n from simulated)) "
        "select cell, avg((p <= 0.05)::integer) from simulated inner join tested using (b, n) "
        "group by cell order by cell",
    )
    return {cells[k]: rate for k, rate in rows}


def _ask(simulated: pa.Table, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        create_tables(connection)
        connection.register("simulated", simulated)
        rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
    return rows


def render_tables() -> Iterator[str]:
    """Yield the lines of the tables in docs/statistics.md."""
    yield "| pairs | accuracy | clustering | covers | mean width |\n| --- | --- | --- | --- | --- |"
    for kind, (covered, width) in average_coverage(1).items():
        yield f"| {kind.n_pairs} | {kind.accuracies[0]} | {kind.clustering} | {covered:.3f} | {width:.3f} |"
    yield "\n| pairs | accuracies | clustering | covers | mean width |\n| --- | --- | --- | --- | --- |"
    for kind, (covered, width) in difference_coverage(2).items():
        names = " against ".join(map(str, kind.accuracies))
        yield f"| {kind.n_pairs} | {names} | {kind.clustering} | {covered:.3f} | {width:.3f} |"
    yield "\n| pairs | mastery | covers |\n| --- | --- | --- |"
    for (n, p), covered in mastery_coverage().items():
        yield f"| {n} | {p} | {covered:.3f} |"
    yield "\n| pairs | of which differ | rejects |\n| --- | --- | --- |"
    for (n, share), rate in mcnemar_rejections(3).items():
        yield f"| {n} | {share} | {rate:.3f} |"


if __name__ == "__main__":
    print("\n".join(render_tables()))
