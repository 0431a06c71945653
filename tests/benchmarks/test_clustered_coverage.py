"""The simulated coverage of the intervals for new facts, on the starter base, with fixed seeds."""

import numpy as np
import pytest

from benchmarks.clustered_coverage import measure_cell, observe, observe_difference, read_base
from benchmarks.clustered_intervals import Observed, Structure, estimate_limits
from benchmarks.simulated_answers import Answering, PairClusters, draw_answers, draw_two_models
from tests.support.expected_clusters import (
    Observation,
    difference_interval,
    measure_clustering,
    share_interval,
)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def clusters() -> PairClusters:
    return read_base("starter")


def list_observations(clusters: PairClusters, observed: Observed, edition: int) -> list[Observation]:
    """Return the observations of one simulated edition, as the tests of the views describe them."""
    is_whole = len(observed.gained) == 1
    found = []
    for pair, names in enumerate(zip(clusters.heads, clusters.tails, clusters.other_tails, strict=True)):
        head, *tails = (str(name) for name in names)
        for k, held in enumerate([tuple(tails)] if is_whole else [(tail,) for tail in tails]):
            gained, lost = (
                int(side[k][edition, pair]) if side else 0 for side in (observed.gained, observed.lost)
            )
            found.append(Observation(pair, head, held, gained, lost, observed.n))
    return found


@pytest.mark.parametrize("measure", ["average", "joint", "mastery"])
def test_arrays_agree_with_the_jackknife(clusters: PairClusters, measure: str) -> None:
    """The views agree with it too (tests/warehouse/test_intervals.py)."""
    few = PairClusters(*(codes[:60] for codes in (clusters.heads, clusters.tails, clusters.other_tails)))
    way = Answering(measure, 0.6, 0.25, 0.2)
    rng = np.random.default_rng(5)
    (right,) = draw_answers(few, way, 3, rng)
    cases = [(observe(measure, right), share_interval)]
    if measure != "joint":
        (models,) = draw_two_models(few, way, 3, rng)
        cases.append((observe_difference(measure, *models), difference_interval))
    for observed, interval in cases:
        limits = estimate_limits(Structure(few), observed)
        for k in range(3):
            observations = list_observations(few, observed, k)
            expected = interval(observations, measure_clustering(observations))
            assert (limits.low[k], limits.high[k]) == pytest.approx(expected, abs=2e-4)
            assert (limits.fixed_low[k], limits.fixed_high[k]) == pytest.approx(
                interval(observations), abs=1e-5
            )


@pytest.mark.parametrize("accuracy", [0.5, 0.95])
@pytest.mark.parametrize("measure", ["average", "mastery"])
def test_clusters_are_covered_and_pairs_alone_are_not(
    clusters: PairClusters, measure: str, accuracy: float
) -> None:
    """Of 400 editions, 95 % have a standard error of 1.1 points."""
    structure = Structure(clusters)
    assert structure.n_effective > 100
    cell = measure_cell(structure, clusters, Answering(measure, accuracy, 0.5, 0.05), 400, seed=1)
    assert 0.92 <= cell.covers <= 0.98
    assert cell.fixed_base_covers < 0.91
    assert cell.false_alarms is not None
    assert cell.fixed_base_false_alarms is not None
    assert cell.false_alarms <= 0.075
    assert cell.fixed_base_false_alarms > 0.055


def test_the_simulated_answers_have_the_accuracy_that_was_asked_for(clusters: PairClusters) -> None:
    rng = np.random.default_rng(2)
    for measure in ("average", "joint", "mastery"):
        for right in draw_answers(clusters, Answering(measure, 0.3, 0.2, 0.1), 400, rng):
            observed = observe(measure, right)
            share = np.mean([counts.mean() for counts in observed.gained]) / observed.n
            assert share == pytest.approx(0.3, abs=0.01)
