"""Scores by the age of the true fact of a pair."""

from pathlib import Path

import pytest

from report.page import write_report
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.expected_views import judge_samples
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse

# By name, the older release comes last.
AGES = {
    "Influenza": "2021",
    "Scabies": "2019B",
    "Angina pectoris": "2021",
    "Scurvy": "new",
    "Migraine": "new",
}
RELEASES = ("2021", "2019B")


def publish(root: Path, ages: dict[str, str], releases: tuple[str, ...]) -> DataFolder:
    small = fill_pairs(DataFolder(root / "data", ages=ages, releases=releases))
    small.write_edition(EDITION)
    small.write_model("erratic")
    small.write_answers(EDITION, "erratic", simulated_models.erratic)
    build_warehouse(small.root)
    return small


def test_scores_are_divided_by_age_in_the_order_of_the_releases(tmp_path: Path) -> None:
    small = publish(tmp_path, AGES, RELEASES)
    samples = judge_samples(small, "pretexeval", simulated_models.erratic, "strict")
    rows = small.query("from accuracy_by_age where scoring_policy = 'strict' order by age_position")
    assert [(row["first_release"], row["age_position"]) for row in rows] == [
        ("2021", 1),
        ("2019B", 2),
        ("new", 3),
    ]
    for row in rows:
        own = [s["is_correct"] for s in samples if AGES[s["head"]] == row["first_release"]]
        assert (row["n_samples"], row["n_complete_pairs"]) == (len(own), len(own) // 16)
        assert row["average_accuracy"] == pytest.approx(sum(own) / len(own))
        assert 0 <= row["mastery_ci_low"] <= row["mastery"] <= row["mastery_ci_high"] <= 1
    assert "By age of the fact" in write_report(small.root, EDITION).read_text(encoding="utf-8")


def test_an_edition_without_ages_has_no_rows_and_no_table(tmp_path: Path) -> None:
    small = publish(tmp_path, {}, ())
    assert small.query("from accuracy_by_age order by edition_id") == []
    assert "By age of the fact" not in write_report(small.root, EDITION).read_text(encoding="utf-8")
