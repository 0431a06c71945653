"""The view weighted_accuracy on simulated answers: bias, coverage, and the prompts that a budget saves."""

import numpy as np
import polars as pl
import pytest

from benchmarks.budget_coverage import Case, describe, measure, open_view, read_pairs, simulate

pytestmark = pytest.mark.long


def test_a_budget_saves_prompts_and_its_interval_covers() -> None:
    found = describe(Case(0.65, 0.6, 0.0), read_pairs(), 150, seed=1)
    for (name, _), each in found.items():
        assert each.bias == pytest.approx(0, abs=0.01), name
        assert 0.9 <= each.covers <= 0.99, name
    assert found["average_accuracy", "relations"].saved > 0.3


@pytest.mark.parametrize("weighting", ["relations", "pairs"])
def test_the_interval_is_that_of_a_stratified_sample(weighting: str) -> None:
    """Without shared heads and tails, in relations that lie far apart (Cochran 1977, equation 5.7)."""
    n = np.repeat([100, 300], [100, 300])
    pairs = pl.DataFrame({"relation": np.where(n == 100, "a", "b"), "pair_id": [f"{i}" for i in range(400)]})
    number = pl.int_range(pl.len())
    pairs = pairs.with_columns(head=number, tail=number, tail_other=number + 400)
    answers = simulate(Case(0.7, 1.0, 0.0), pairs, 1, np.random.default_rng(2))
    (row,) = measure(open_view(pairs), answers).filter(weighting=weighting).rows(named=True)
    is_mastered = (answers["correct_bits"] == 65535).to_numpy()
    strata = [is_mastered[n == size] for size in (100, 300)]
    weights = np.array([0.5, 0.5] if weighting == "relations" else [0.25, 0.75])
    mean = weights @ [stratum.mean() for stratum in strata]
    error = (weights**2 @ [stratum.var(ddof=1) / stratum.size for stratum in strata]) ** 0.5
    width = row["mastery_fixed_base_ci_high"] - row["mastery_fixed_base_ci_low"]
    assert row["mastery"] == pytest.approx(mean)
    assert width == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_a_model_that_is_always_right_has_an_interval_of_its_unequal_weights() -> None:
    """Weights 0.9 and 0.1 on 10 pairs each are worth 12.2 pairs."""
    pairs = pl.DataFrame({"relation": ["a"] * 90 + ["b"] * 10, "pair_id": [f"{i}" for i in range(100)]})
    number = pl.int_range(pl.len())
    pairs = pairs.with_columns(head=number, tail=number, tail_other=number + 100)
    answers = pairs[80:].select("relation", "pair_id", run=pl.lit(0), correct_bits=pl.lit(65535))
    (row,) = measure(open_view(pairs), answers).filter(weighting="pairs").rows(named=True)
    n = 1 / (0.9**2 / 10 + 0.1**2 / 10)
    assert (row["average_accuracy"], row["mastery"]) == (1, 1)
    assert row["mastery_ci_low"] == pytest.approx(n / (n + 1.96**2), abs=0.001)
    assert (row["least_asked_share"], row["most_asked_share"]) == (pytest.approx(1 / 9), 1)
