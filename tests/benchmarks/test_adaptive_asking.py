"""Allocation of pairs to relations, and the bias and coverage of adaptive asking."""

import pytest

from benchmarks.adaptive_asking import Case, describe, simulate
from benchmarks.pair_allocation import allocate_pairs, shrink_variances

pytestmark = pytest.mark.long


def test_pairs_are_allocated_in_proportion_to_the_spread() -> None:
    assert allocate_pairs([1000, 1000], [0, 0], [0.09, 0.01], 400) == [300, 100]


def test_no_relation_is_asked_beyond_its_pairs_nor_less_than_before() -> None:
    assert allocate_pairs([10, 1000, 5], [4, 50, 5], [1.0, 0.0001, 9.0], 20) == [10, 64, 5]
    assert allocate_pairs([3, 2], [1, 1], [1.0, 1.0], 100) == [3, 2]


def test_a_relation_whose_pairs_are_all_right_keeps_a_variance() -> None:
    none, some = shrink_variances([10, 10], [0.0, 2.5])
    assert 0 < none < some


def test_adaptive_asking_is_unbiased_and_its_interval_covers() -> None:
    case = Case("equal sizes", "mastery", 0.65, 0.6)
    found = describe(case, simulate(case, 200, seed=1))
    assert found["bias"] == pytest.approx(0, abs=0.002)
    assert 0.9 <= found["coverage"] <= 0.99
