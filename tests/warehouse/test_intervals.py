"""The intervals of shares and differences, against the jackknife of tests/support/expected_views.py."""

import random
from collections.abc import Iterator

import duckdb
import pytest
from scipy.stats import binomtest

from tests.support.expected_views import (
    Observation,
    difference_error,
    difference_interval,
    group,
    measure_clustering,
    share,
    share_interval,
)
from warehouse.catalogue import create_tables, create_views

COLUMNS = (
    "head_cluster, positive_tail_cluster, negative_tail_cluster, gained, lost, n, "
    "negative_gained, negative_lost, negative_n"
)

CAST_COLUMNS = ", ".join(f"{name}::integer as {name}" for name in COLUMNS.split(", "))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        create_tables(opened)
        create_views(opened)
        yield opened


def estimate(
    connection: duckdb.DuckDBPyConnection, draws: list[list[Observation]], *, is_difference: bool
) -> list[dict[str, float]]:
    """Return what estimate_shares returns for each list of observations."""
    rows = []
    for k, observations in enumerate(draws):
        for members in group(observations, lambda o: o.pair).values():
            tails = [tail for o in members for tail in o.tails]
            counts = [v for o in members for v in (o.gained, o.lost if is_difference else None, o.n)]
            names = [int(name[1:]) for name in (members[0].head, *tails)]
            values = [k, *names, *counts, *[None] * (6 - len(counts))]
            rows.append(f"({', '.join('null' if v is None else str(v) for v in values)})")
    found = connection.execute(
        f"with observations as (select key, 'any' as measure, {CAST_COLUMNS} "
        f"from (values {', '.join(rows)}) as t (key, {COLUMNS})) "
        "from estimate_shares('observations') order by key"
    )
    columns = [column[0] for column in found.description or []]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def check(found: dict[str, float], observations: list[Observation], *, is_difference: bool) -> None:
    clustering = measure_clustering(observations)
    interval = difference_interval if is_difference else share_interval
    expected = {
        "share": share(observations),
        "inflation": clustering.inflation,
        "n_rare": clustering.n_rare,
        "n_effective": clustering.n_effective,
        **dict(zip(("ci_low", "ci_high"), interval(observations, clustering), strict=True)),
        **dict(zip(("fixed_base_ci_low", "fixed_base_ci_high"), interval(observations), strict=True)),
    }
    if is_difference:
        expected["se"] = difference_error(observations, clustering)
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-5, abs=1e-6)


def draw(seed: int, *, is_whole: bool, is_difference: bool) -> list[Observation]:
    """Return the observations of 3 to 30 pairs that share a few heads and tails."""
    rng = random.Random(seed)
    n_heads, n_tails = rng.randint(2, 12), rng.randint(3, 8)
    observations = []
    for pair in range(rng.randint(3, 30)):
        head, tails = f"h{rng.randrange(n_heads)}", tuple(f"t{k}" for k in rng.sample(range(n_tails), 2))
        skill = rng.random()
        for held in [tails] if is_whole else [(tail,) for tail in tails]:
            n = 1 if is_whole else rng.randint(1, 8)
            gained = sum(rng.random() < skill for _ in range(n))
            lost = sum(rng.random() < 0.4 for _ in range(n - gained)) if is_difference else 0
            observations.append(Observation(pair, head, held, gained, lost, n))
    return observations


@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("is_difference", [False, True])
def test_random_clusters(connection: duckdb.DuckDBPyConnection, is_whole: bool, is_difference: bool) -> None:
    draws = [draw(seed, is_whole=is_whole, is_difference=is_difference) for seed in range(60)]
    rows = estimate(connection, draws, is_difference=is_difference)
    assert sum(row["inflation"] > 1 for row in rows) > 30, "the draws should have clusters"
    for observations, row in zip(draws, rows, strict=True):
        check(row, observations, is_difference=is_difference)


def pairs_of(answers: list[tuple[int, int]]) -> list[Observation]:
    """Return pairs with these numbers of right answers of 8 to the true and to the false triplet."""
    return [
        Observation(k, f"h{k}", (tail,), c, 0, 8)
        for k, both in enumerate(answers)
        for tail, c in zip(("t0", "t1"), both, strict=True)
    ]


def test_pairs_that_do_not_vary_count_as_one_observation_each(connection: duckdb.DuckDBPyConnection) -> None:
    """All right, all wrong, half by rule, and one pair."""
    draws = [pairs_of(each) for each in ([(8, 8)] * 12, [(0, 0)] * 12, [(8, 0)] * 12, [(8, 8)])]
    for row, n in zip(estimate(connection, draws, is_difference=False), (12, 12, 12, 1), strict=True):
        expected = binomtest(round(row["share"] * n), n).proportion_ci(method="wilson")
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high))
        assert (row["fixed_base_ci_low"], row["fixed_base_ci_high"]) == (row["ci_low"], row["ci_high"])
    (row,) = estimate(connection, [pairs_of([(0, 0)] * 20)], is_difference=True)
    nobody = binomtest(0, 20).proportion_ci(method="wilson").high
    found = [row[name] for name in ("share", "se", "ci_low", "ci_high")]
    assert found == pytest.approx([0.0, 0.0, -nobody, nobody])
