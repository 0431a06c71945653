"""Coverage of intervals on simulated editions (benchmarks/coverage.py)."""

from collections.abc import Iterator
from itertools import product

import duckdb
import numpy as np
import polars as pl
import pytest

from benchmarks.coverage import (
    MEASURES,
    Answering,
    K,
    measure_budget,
    measure_coverage,
    open_macros,
    simulate,
)

pytestmark = pytest.mark.long

SIZES = (20, 100, 500)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_macros() as opened:
        yield opened


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    """Return 500 pairs of 21 relations, in which some heads and tails occur much more often than others."""
    rng, n = np.random.default_rng(3), 500
    relation = pl.Series(rng.zipf(1.4, n) % 21).rank("dense").cast(pl.String)
    head, tail, other = (np.floor(size * rng.random(n) ** 1.5).astype(int) for size in (250, 200, 200))
    columns = {"head": head, "tail": tail, "tail_other": other}
    return pl.DataFrame({"relation": relation, "pair_id": [str(k) for k in range(n)], **columns})


def list_separate_pairs(n: int) -> pl.DataFrame:
    """Return so many pairs of one relation, each with a head and tails of its own."""
    number = pl.int_range(n, eager=True)
    columns = {"head": number, "tail": number, "tail_other": number + n}
    return pl.DataFrame({"relation": ["r"] * n, "pair_id": number.cast(pl.String), **columns})


@pytest.mark.parametrize("n_pairs", SIZES)
def test_a_fixed_base_is_covered(connection: duckdb.DuckDBPyConnection, n_pairs: int) -> None:
    """Counts below 50 right or wrong samples, and 20 pairs, make the interval deliberately too wide."""
    n_editions = min(2000, 150_000 // n_pairs)
    for accuracy, pair_share in product((0.02, 0.5, 0.98), (0.0, 0.7)):
        way = Answering(accuracy, 0, 0, pair_share)
        cell = measure_coverage(connection, list_separate_pairs(n_pairs), way, n_editions, 1, ["average"])
        score, difference = (each.fixed_base_covers for each in cell["average"])
        is_few = n_pairs <= 20 or 2 * K * n_pairs * min(accuracy, 1 - accuracy) < 50
        assert score >= 0.93, way
        assert difference >= 0.93, way
        assert score <= (0.995 if is_few else 0.97), way


@pytest.mark.parametrize("accuracy", [0.7, 0.95])
def test_new_facts_are_covered_and_pairs_alone_are_too_narrow(
    connection: duckdb.DuckDBPyConnection, pairs: pl.DataFrame, accuracy: float
) -> None:
    """Of 400 editions, 95 % have a standard error of 1.1 points."""
    cell = measure_coverage(connection, pairs, Answering(accuracy, 0.5, 0.05), 400, seed=1)
    assert cell.keys() == set(MEASURES)
    for measure, (score, difference) in cell.items():
        assert score.n_effective > 100
        assert 0.92 <= score.covers <= 0.98, measure
        assert score.fixed_base_covers < 0.91, measure
        assert difference.covers >= 0.925, measure
        assert difference.fixed_base_covers < 0.945, measure


def test_a_budget_saves_prompts_and_its_intervals_cover(pairs: pl.DataFrame) -> None:
    found = measure_budget(pairs, Answering(0.65, 0, 0.05, spread=0.6), 200, seed=1)
    assert len(found) == 4
    for key, (covers, _) in found.items():
        assert 0.9 <= covers <= 0.99, key
    assert found["average", "relations"][1] > 0.2


def test_the_simulated_answers_have_the_expected_scores(pairs: pl.DataFrame) -> None:
    way = Answering(0.8, 0.25, 0.1)
    (right,) = simulate(pairs, way, 400, np.random.default_rng(2))
    found = {"average": right.mean(), "joint": right.all(-1).mean(), "mastery": right.all((-2, -1)).mean()}
    assert found == pytest.approx({name: truth[0] for name, truth in way.expect(1).items()}, abs=0.01)


def test_an_interval_that_is_too_narrow_would_be_found(connection: duckdb.DuckDBPyConnection) -> None:
    """The simulation notices a wrong interval: with z = 1.7 instead of 1.96 the coverage is 91 %."""
    for name, sign in (("low", "-"), ("high", "+")):
        connection.execute(
            f"create or replace macro wilson_{name}(p, n) as "
            f"(p * n + 1.445 {sign} 1.7 * sqrt(p * (1 - p) * n + 0.7225)) / (n + 2.89)"
        )
    way = Answering(0.5, 0, 0, 0.7)
    cell = measure_coverage(connection, list_separate_pairs(100), way, 1500, 1, ["average"])
    assert cell["average"][0].fixed_base_covers < 0.93
