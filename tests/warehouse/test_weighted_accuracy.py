"""Average accuracy and mastery over relations, by hand."""

import pytest

from tests.support.data_folder import DataFolder

CHOICE = "where method = 'pretexeval' and scoring_policy = 'strict' and model_id = 'erratic'"


def test_relations_count_alike_or_by_their_pairs(published: DataFolder) -> None:
    """The edition has three test pairs of symptoms and one of drugs."""
    (drugs, symptoms) = published.query(f"from accuracy_by_relation {CHOICE} order by relation")
    (pairs, relations) = published.query(f"from weighted_accuracy {CHOICE} order by weighting")
    assert symptoms["average_accuracy"] != drugs["average_accuracy"]
    for measure in ("average_accuracy", "mastery"):
        assert relations[measure] == pytest.approx((symptoms[measure] + drugs[measure]) / 2)
        assert pairs[measure] == pytest.approx((3 * symptoms[measure] + drugs[measure]) / 4)
    for row in (pairs, relations):
        assert (
            row["ci_low"] <= row["fixed_base_ci_low"] <= row["average_accuracy"] <= row["fixed_base_ci_high"]
        )
        assert (row["n_pairs"], row["least_asked_share"], row["most_asked_share"]) == (4, 1, 1)


def test_intervals_weigh_strata_with_shrunken_shares(published: DataFolder) -> None:
    """Pinned: the coverage of these intervals is measured in benchmarks/budget_coverage.py."""
    rows = published.query(f"from weighted_accuracy {CHOICE} order by weighting")
    columns = ("ci_low", "ci_high", "mastery_ci_low", "mastery_ci_high")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        pytest.approx((0.370483, 0.980217, 0, 0.489891), abs=1e-6),
        pytest.approx((0.295961, 0.978103, 0, 0.561497), abs=1e-6),
    ]
