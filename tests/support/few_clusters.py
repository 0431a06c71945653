"""Intervals for differences of the few pairs that the folders of tests have."""

from collections.abc import Iterator

import pytest

from pretexeval.statistics import intervals


@pytest.fixture(scope="session", autouse=True)
def give_intervals() -> Iterator[None]:
    """Let a difference of any number of clusters have an interval, so that tests can compute it again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "MIN_CLUSTERS", 0)
        yield
