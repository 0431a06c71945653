"""Intervals and tests keep their rates on 5,000 simulated editions of each kind (interval_coverage.py)."""

import duckdb
import pytest

from benchmarks import interval_coverage
from benchmarks.interval_coverage import (
    DISCORDANCE,
    SIZES,
    K,
    average_coverage,
    difference_coverage,
    mastery_coverage,
    mcnemar_rejections,
)
from warehouse.catalogue import create_tables

pytestmark = pytest.mark.long

# With fewer right or wrong samples than this, or with no more pairs than this, counts are so small that the
# interval is deliberately too wide (above 96 %).
FEW_SAMPLES = 50
FEW_PAIRS = 20


def test_average_accuracy_is_covered_as_often_as_it_says() -> None:
    cells = average_coverage(seed=1)
    assert len(cells) == 18
    for cell, (covered, _) in cells.items():
        rare = min(cell.accuracies[0], 1 - cell.accuracies[0])
        is_few = cell.n_pairs <= FEW_PAIRS or K * cell.n_pairs * rare < FEW_SAMPLES
        assert covered >= 0.94, cell
        assert covered <= (0.99 if is_few else 0.96), cell


def test_more_pairs_and_independent_samples_make_it_narrower() -> None:
    cells = average_coverage(seed=1)
    widths = {(c.accuracies, c.clustering, c.n_pairs): width for c, (_, width) in cells.items()}
    for accuracies, clustering, n_pairs in widths:
        assert widths[accuracies, "none", n_pairs] <= widths[accuracies, clustering, n_pairs]
        assert widths[accuracies, clustering, 500] <= widths[accuracies, clustering, n_pairs]


def test_the_paired_difference_is_covered() -> None:
    for cell, (covered, _) in difference_coverage(seed=2).items():
        assert covered >= 0.94, cell


def test_mastery_is_covered() -> None:
    """Compute the coverage exactly, by the binomial, because Wilson's interval swings about 95 %."""
    cells = mastery_coverage()
    assert len(cells) == 9
    for cell, covered in cells.items():
        assert 0.94 <= covered <= 0.965, cell


def test_mcnemar_rejects_at_most_at_its_nominal_rate() -> None:
    rejections = mcnemar_rejections(seed=3)
    assert len(rejections) == len(SIZES) * len(DISCORDANCE)
    assert max(rejections.values()) <= 0.05
    assert max(rejections.values()) > 0.035, "it should reject where there is enough to see"
    assert all(rate == 0 for (n, share), rate in rejections.items() if n * share < 1)


def test_an_interval_that_is_too_narrow_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation notices a wrong interval: with z = 1.7 instead of 1.96 the coverage is 91 %."""

    def create_narrow(connection: duckdb.DuckDBPyConnection) -> None:
        create_tables(connection)
        for name, sign in (("low", "-"), ("high", "+")):
            connection.execute(
                f"create or replace macro wilson_{name}(p, n) as "
                f"(p * n + 1.445 {sign} 1.7 * sqrt(p * (1 - p) * n + 0.7225)) / (n + 2.89)"
            )

    monkeypatch.setattr(interval_coverage, "create_tables", create_narrow)
    covered = [covers for cell, (covers, _) in average_coverage(seed=1).items() if cell.n_pairs == 500]
    assert len(covered) == 6
    assert max(covered) < 0.93
