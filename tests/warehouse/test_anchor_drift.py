"""Anchors in the warehouse: apart from the editions, and compared from period to period."""

from pathlib import Path

import pytest

from tests.support.anchor_weeks import ANCHORS, PRICE, WEEKS, fill_anchor_weeks
from tests.support.data_folder import DataFolder
from tests.warehouse.conftest import fill_pairs
from warehouse.publishing import build_warehouse


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Publish a week's edition and anchors, which the model answers otherwise in the second week."""
    data = fill_anchor_weeks(fill_pairs(DataFolder(tmp_path)))
    build_warehouse(data.root)
    return data


def test_views_of_editions_leave_anchors_out(data: DataFolder) -> None:
    for name in ("leaderboard", "freshness", "accuracy_by_relation"):
        rows = data.query(f"select distinct edition_id from {name} order by edition_id")
        assert [row["edition_id"] for row in rows] == [f"tiny-{week}-00000001" for week in WEEKS], name
    (drift,) = data.query("select edition_id, other_edition_id from edition_drift")
    assert ANCHORS not in drift.values()


def test_what_changed_between_two_periods(data: DataFolder) -> None:
    (row,) = data.query("from anchor_drift")
    n_pairs = data.query(f"select count(distinct pair_id) as n from samples where edition_id = '{ANCHORS}' "
                         "and split = 'test'")[0]["n"]  # fmt: skip
    assert (row["period"], row["other_period"], row["is_successive"]) == (*WEEKS, True)
    # Ten of the sixteen samples of each pair of Scurvy.
    n_scurvy = data.query(
        f"select count(*) as n from triplets where edition_id = '{ANCHORS}' and split = 'test' "
        "and head = 'Scurvy' and is_positive"
    )[0]["n"]
    assert (row["n_pairs"], row["n_answers"], row["n_changed"]) == (n_pairs, 16 * n_pairs, 10 * n_scurvy)
    assert (row["n_changed_pairs"], row["n_worse_pairs"], row["n_better_pairs"]) == (n_scurvy, n_scurvy, 0)
    assert row["change_rate_ci_low"] < row["change_rate"] < row["change_rate_ci_high"]
    assert row["difference"] == pytest.approx(10 * n_scurvy / (16 * n_pairs))
    assert row["mastery_difference"] == pytest.approx(n_scurvy / n_pairs)
    assert row["has_changed"] == (row["change_p"] < 0.05)
    (explained,) = data.query("from drift_explanations")
    assert explained["anchor_fall"] == explained["fresh_fall"] == pytest.approx(row["difference"])
    assert explained["excess_fall"] == pytest.approx(0)
    assert explained["excess_fall_ci_low"] < 0 < explained["excess_fall_ci_high"]
    assert explained["has_leaked"] is False


def test_anchors_of_each_period_have_their_cost(data: DataFolder) -> None:
    costs = data.query(f"from cost where edition_id = '{ANCHORS}' order by period")
    assert [(row["period"], row["role"], row["price_currency"]) for row in costs] == [
        (week, "anchors", "EUR") for week in WEEKS
    ]
    usage = data.query(f"from token_usage where edition_id = '{ANCHORS}' order by period")
    n_samples = data.query(f"select count(*) as n from samples where edition_id = '{ANCHORS}' "
                           "and split = 'test'")[0]["n"]  # fmt: skip
    for row, used in zip(costs, usage, strict=True):
        assert row["n_prompts"] == used["n_prompts"] == n_samples
        paid = used["n_prompt_tokens"] * PRICE["input"] + used["n_completion_tokens"] * PRICE["output"]
        assert row["cost"] == pytest.approx(paid / 1e6)
        assert paid > 0
    others = data.query(f"select distinct role, period from cost where edition_id <> '{ANCHORS}'")
    assert others == [{"role": "evaluated", "period": None}]
