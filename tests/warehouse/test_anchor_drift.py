"""Anchors in the warehouse: apart from the editions, and compared from period to period."""

from pathlib import Path

import pytest

from report.edition_rows import read_editions
from report.page import write_report
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, write_record
from tests.warehouse.conftest import fill_pairs
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

ANCHORS = "tiny-anchors-00000001"
WEEKS = ("2026-W46", "2026-W47")


def forgetful(sample: Row) -> bool | None:
    """Answer as an expert, except about Scurvy, where every second sample is wrong and one has no answer."""
    if sample["head"] != "Scurvy" or sample["transformation"] in ("none", "inv", "ins"):
        return bool(sample["label"])
    return None if sample["transformation"] == "dn" else not sample["label"]


def ask_anchors(data: DataFolder, period: str, rule: Rule) -> None:
    data.write_answers(ANCHORS, "m", rule)
    folder = data.root / "anchor_predictions" / ANCHORS / period / "m"
    folder.parent.mkdir(parents=True)
    (data.root / "predictions" / ANCHORS / "m").rename(folder)


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Publish a week's edition and anchors, which the model answers otherwise in the second week."""
    data = fill_pairs(DataFolder(tmp_path))
    data.write_model("m")
    for week, rule in zip(WEEKS, (simulated_models.expert, forgetful), strict=True):
        edition_id = f"tiny-{week}-00000001"
        data.write_edition(edition_id)
        path = data.root / "editions" / edition_id / "manifest.json"
        write_record(path, require_record(path) | {"label": week})
        data.write_answers(edition_id, "m", rule)
    data.write_edition(ANCHORS)
    path = data.root / "editions" / ANCHORS / "manifest.json"
    record = require_record(path)
    write_record(path, record | {"configuration": (record.get("configuration") or {}) | {"anchor_pairs": 4}})
    for week, rule in zip(WEEKS, (simulated_models.expert, forgetful), strict=True):
        ask_anchors(data, week, rule)
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


def test_page_says_which_explanation_the_figures_support(data: DataFolder) -> None:
    (explained,) = data.query("from drift_explanations")
    sentence = {
        "model changed": "the figures support that the served model changed",
        "neither is supported": "the figures support neither a changed model nor a leak",
    }[explained["explanation"]]
    first, second = (
        write_report(data.root, f"tiny-{week}-00000001").read_text(encoding="utf-8") for week in WEEKS
    )
    assert f"from {WEEKS[0]} to {WEEKS[1]}: {sentence}." in second
    assert 'id="anchors"' not in first
    assert ANCHORS not in [row["edition_id"] for row in read_editions(data.root)[0]]


def test_anchors_that_are_gone_are_deleted(data: DataFolder) -> None:
    record = data.root / "anchor_predictions" / ANCHORS / WEEKS[1] / "m" / "run.json"
    record.unlink()
    build_warehouse(data.root)
    assert data.query("select distinct period from anchor_predictions") == [{"period": WEEKS[0]}]
    assert data.query("from anchor_drift") == []
