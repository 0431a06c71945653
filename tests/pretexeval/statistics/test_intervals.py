"""Intervals, tests and families of tests, against libraries, by hand and by what must always hold."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pretexeval.statistics import intervals
from pretexeval.statistics.clusters import Observations, measure_spread
from pretexeval.statistics.intervals import Estimates, adjust_by_holm

N_PAIRS = 105
Change = tuple[int, int]
"""How many of the eight samples of the true and of the false triplet of a pair change."""


def observe(gained: list[Change], lost: list[Change] | None = None, n_pairs: int = N_PAIRS) -> Observations:
    """Return pairs of 16 samples, of which the first ones gain and the last ones lose; some share a head."""
    numbers = np.arange(n_pairs)
    counts = [np.zeros((n_pairs, 2)), np.zeros((n_pairs, 2))]
    for place, change in enumerate(gained):
        counts[0][place] = change
    for place, change in enumerate(lost or [], 1):
        counts[1][-place] = change
    heads = numbers - (numbers % 9 == 1)
    tails = np.stack([numbers, (numbers * 7 + 3) % n_pairs], axis=1)
    return Observations(
        counts[0], np.full((n_pairs, 2), 8.0), heads, tails, None if lost is None else counts[1]
    )


def estimate(*observations: Observations) -> Estimates:
    return Estimates([spread for each in observations if (spread := measure_spread(each))])


# Changes -> the interval in points.
DIFFERENCES = [
    ([], [], (-3.5, 3.5)),
    ([(4, 4)], [], (-1.4, 4.4)),
    ([(4, 4)] * 2, [], (-2.7, 8.6)),
    ([(1, 0)] * 20, [], (0.7, 2.0)),
    ([(1, 0)] * 20, [(1, 0)] * 5, (0.2, 1.6)),
    ([(8, 8)] * 20, [(8, 8)] * 20, (-13.0, 13.0)),
]


def test_a_few_changes_of_many_pairs() -> None:
    """One changed pair is as wide as none, and a one-sided change is significant."""
    for gained, lost, expected in DIFFERENCES:
        estimates = estimate(observe(gained, lost))
        limits = estimates.limit()
        found = 100 * limits.low[0], 100 * limits.high[0]
        assert found == pytest.approx(expected, abs=0.6), expected
        reaches = sorted(abs(100 * estimates.scores[0] - limit) for limit in found)
        assert reaches[1] < 3 * reaches[0], expected


changes = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30)


@given(changes, changes)
def test_a_test_is_its_interval_and_both_sides_are_alike(gained: list[Change], lost: list[Change]) -> None:
    estimates = estimate(observe(gained, lost), observe(lost[::-1], gained[::-1], N_PAIRS))
    swapped = estimate(
        Observations(**{**vars(one := observe(gained, lost)), "gained": one.lost, "lost": one.gained})
    )
    limits, mirrored, p_values = estimates.limit(), swapped.limit(), estimates.test()
    assert (limits.low[0], limits.high[0]) == pytest.approx((-mirrored.high[0], -mirrored.low[0]), abs=1e-12)
    assert limits.low[0] <= estimates.scores[0] <= limits.high[0]
    for low, high, p in zip(limits.low, limits.high, p_values, strict=True):
        assert (low > 0 or high < 0) == (p < 0.05)
    at_level = estimates.limit(level=p_values)
    if estimates.scores[0] and 1e-9 < p_values[0] < 0.999:
        assert min(abs(at_level.low[0]), abs(at_level.high[0])) < 1e-6


def test_units_without_a_common_head_or_tail_have_wilsons_interval() -> None:
    for n_right in (0, 1, 30, 60):
        numbers = np.arange(60)
        right = (numbers < n_right).astype(float)[:, None]
        tails = np.stack([numbers, numbers + 60], axis=1)
        limits = estimate(Observations(right, np.ones((60, 1)), numbers, tails)).limit(is_base_fixed=True)
        expected = binomtest(n_right, 60).proportion_ci(method="wilson")
        assert (limits.low[0], limits.high[0]) == pytest.approx((expected.low, expected.high)), n_right


def test_pairs_that_do_not_vary_count_as_one_observation_each() -> None:
    for right, n_pairs in (((8, 8), 12), ((0, 0), 12), ((8, 0), 12), ((8, 8), 1)):
        limits = estimate(observe([right] * n_pairs, n_pairs=n_pairs)).limit(is_base_fixed=True)
        n_right = sum(right) * n_pairs // 16
        expected = binomtest(n_right, n_pairs).proportion_ci(method="wilson")
        assert (limits.low[0], limits.high[0]) == pytest.approx((expected.low, expected.high))


def test_too_few_clusters_give_a_difference_without_interval_and_a_share_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Folders of other tests have fewer pairs and no such limit (tests/support/few_clusters.py).
    monkeypatch.setattr(intervals, "MIN_CLUSTERS", 10)
    n_pairs = 9
    few = estimate(observe([(3, 4)] * 3, [], n_pairs), observe([(3, 4)] * 3, n_pairs=n_pairs))
    limits = few.limit()
    assert np.isnan([limits.low[0], limits.high[0], few.test()[0]]).all()
    assert few.scores[0] > 0
    assert limits.low[1] < few.scores[1] < limits.high[1]


# The interval for new facts, that of a fixed base, the standard error, and n_effective of 40 pairs, of which
# three have one head. They were computed apart from this code, by leaving out every head and tail in turn.
LEFT_OUT = {
    "share of samples": (0.2503571617, 0.5570482712, 0.3202238945, 0.4713379153, None, 12.8),
    "difference in samples": (0.1402388176, 0.4447184569, 0.2078883310, 0.3725140534, 0.0609814416, 12.8),
    "share of pairs": (0.2707481679, 0.8821013134, 0.4703243914, 0.7577702083, None, 12.9554655870),
    "difference in pairs": (
        *(-0.1866541249, 0.8002895421, 0.1828229183, 0.6477740672, 0.2116802011),
        12.9554655870,
    ),
}


def test_intervals_are_those_of_leaving_every_cluster_out() -> None:
    numbers = np.arange(40)
    heads, first = numbers // 3, numbers * 7 % 13
    tails = np.stack([first, (first + 5) % 13], axis=1)
    n = np.full((40, 2), 8.0) * [[True, pair % 5 == 0] for pair in numbers]
    lost = np.stack([tails[:, 0] * 5 % 3, heads % 2], axis=1) * (n > 0)
    gained = np.minimum(np.stack([heads * 3 % 7 + numbers % 2, tails[:, 1] * 3 % 6], axis=1), n - lost)
    mastered, missed = (heads % 3 > 0)[:, None], ((heads % 3 == 0) & (numbers % 2 == 1))[:, None]
    observed = [
        Observations(right.astype(float), of, heads, tails, None if not other.any() else other.astype(float))
        for right, other, of in (
            *((gained, other, n) for other in (np.zeros_like(lost), lost)),
            *((mastered, other, np.ones((40, 1))) for other in (np.zeros_like(missed), missed)),
        )
    ]
    estimates = estimate(*observed)
    free, fixed = estimates.limit(), estimates.limit(is_base_fixed=True)
    errors = estimates["standard_error"] * np.sqrt(estimates["inflation"])
    columns = (free.low, free.high, fixed.low, fixed.high, errors, estimates["n_effective"])
    for expected, *found in zip(LEFT_OUT.values(), *columns, strict=True):
        known = [(mine, theirs) for mine, theirs in zip(found, expected, strict=True) if theirs is not None]
        assert [mine for mine, _ in known] == pytest.approx([theirs for _, theirs in known], abs=1e-9)


def test_holm() -> None:
    p_values = np.array([0.03, 0.001, np.nan, 0.2, 0.02])
    multipletests = importlib.import_module("statsmodels.stats.multitest").multipletests
    known = ~np.isnan(p_values)
    adjusted = adjust_by_holm(p_values)
    assert adjusted[known] == pytest.approx(multipletests(p_values[known], method="holm")[1])
    assert np.isnan(adjusted[~known]).all()
