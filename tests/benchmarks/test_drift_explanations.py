"""The view drift_explanations tells a changed model from texts that had leaked, over simulated weeks."""

import pytest

from benchmarks.drift_explanations import CASES, count_explanations, simulate

N_WEEKS = 200
# Of 200 weeks with a rate of 5 %, at most 17 have an alarm with a probability of 97 %.
MOST_FALSE_ALARMS = 17 / N_WEEKS
MEASURED = ("nothing", "changed, 5 points", "leaked, 5 points")


@pytest.fixture(scope="module")
def shares() -> dict[str, dict[str, float]]:
    """Return case -> the share of its weeks with each explanation."""
    cases = tuple(case for case in CASES if case.name in MEASURED)
    counted = count_explanations(simulate(cases, N_WEEKS))
    return {row["case"]: row for row in counted.iter_rows(named=True)}


def test_nothing_happened(shares: dict[str, dict[str, float]]) -> None:
    found = shares["nothing"]
    assert found["model changed"] + found["both"] <= MOST_FALSE_ALARMS
    assert found["texts had leaked"] + found["both"] <= MOST_FALSE_ALARMS


def test_a_changed_model_is_found_and_not_taken_for_a_leak(shares: dict[str, dict[str, float]]) -> None:
    found = shares["changed, 5 points"]
    assert found["fresh_fall"] == pytest.approx(0.05, abs=0.01)
    assert found["model changed"] + found["both"] >= 0.95
    assert found["texts had leaked"] + found["both"] <= MOST_FALSE_ALARMS


def test_a_leak_is_found_and_not_taken_for_a_changed_model(shares: dict[str, dict[str, float]]) -> None:
    found = shares["leaked, 5 points"]
    assert found["fresh_fall"] == pytest.approx(0.05, abs=0.01)
    assert found["texts had leaked"] + found["both"] >= 0.95
    assert found["model changed"] + found["both"] <= MOST_FALSE_ALARMS
