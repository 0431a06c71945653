"""Coverage of intervals on simulated editions (benchmarks/coverage.py)."""

import numpy as np
import polars as pl
import pytest

from benchmarks.coverage import (
    CHANGES,
    MEASURES,
    Answering,
    Change,
    compare_with_t,
    measure_coverage,
    measure_equal_numbers,
)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    """Return 500 pairs of 21 relations, in which some heads and tails occur much more often than others."""
    rng, n = np.random.default_rng(3), 500
    relation = pl.Series(rng.zipf(1.4, n) % 21).rank("dense").cast(pl.String)
    head, tail, other = (np.floor(size * rng.random(n) ** 1.5).astype(int) for size in (250, 200, 200))
    columns = {"head": head, "tail": tail, "tail_other": other}
    return pl.DataFrame({"relation": relation, "pair_id": [str(k) for k in range(n)], **columns})


@pytest.mark.parametrize("accuracy", [0.7, 0.95])
def test_new_facts_are_covered_and_pairs_alone_are_too_narrow(pairs: pl.DataFrame, accuracy: float) -> None:
    """Of 400 editions, 95 % have a standard error of 1.1 points."""
    cell = measure_coverage(pairs, Answering(accuracy, 0.5, 0.05), 400, seed=1)
    assert cell.keys() == set(MEASURES)
    for measure, (score, difference) in cell.items():
        assert score.n_effective > 100
        assert 0.92 <= score.covers <= 0.98, measure
        assert score.fixed_base_covers < 0.91, measure
        assert difference.covers >= 0.925, measure
        assert difference.fixed_base_covers < 0.945, measure


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_differences_of_few_samples_are_covered_and_found(pairs: pl.DataFrame, change: Change) -> None:
    """Student's interval finds more only where it contains the truth too seldom."""
    way = Answering(0.5, 0.25, 0.05)
    covers, power, t_covers, t_power = compare_with_t(
        change.simulate(pairs, way, 400, seed=1), change.difference
    )
    assert covers >= 0.92
    assert power >= 0.9 * t_power or t_covers < 0.93


def test_equal_numbers_of_pairs_save_prompts_and_their_intervals_cover(pairs: pl.DataFrame) -> None:
    found = measure_equal_numbers(pairs, Answering(0.65, 0, 0.05, spread=0.6), 200, seed=1)
    assert len(found) == 4
    for key, (covers, _) in found.items():
        assert 0.9 <= covers <= 0.99, key
    assert found["average", "relations"][1] > 0.2
