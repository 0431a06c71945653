from pathlib import Path

import pytest

from report.page import write_report
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.expected_views import judge_samples
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse

ASSERTED = {"Influenza", "Scurvy"}


def publish(root: Path, asserted: set[str]) -> DataFolder:
    small = fill_pairs(DataFolder(root / "data", asserted=asserted))
    small.write_edition(EDITION)
    for rule in (simulated_models.erratic, simulated_models.always_true):
        small.write_model(rule.__name__)
        small.write_answers(EDITION, rule.__name__, rule)
    build_warehouse(small.root)
    return small


def test_asserted_negatives_are_reported_apart(tmp_path: Path) -> None:
    small = publish(tmp_path, ASSERTED)
    samples = judge_samples(small, "pretexeval", simulated_models.erratic, "strict")
    rows = small.query("from accuracy_by_negative where model_id = 'erratic' and scoring_policy = 'strict'")
    assert [row["is_asserted"] for row in rows] == [False, True]
    for row in rows:
        own = [s for s in samples if (s["head"] in ASSERTED) is row["is_asserted"]]
        false = [s["is_correct"] for s in own if not s["is_positive"]]
        assert row["average_accuracy"] == pytest.approx(sum(s["is_correct"] for s in own) / len(own))
        assert row["negative_accuracy"] == pytest.approx(sum(false) / len(false))
        assert row["n_samples"] == len(own)
        assert row["n_complete_pairs"] == 2
        assert 0 <= row["ci_low"] <= row["average_accuracy"] <= row["ci_high"] <= 1
    page = write_report(small.root, EDITION).read_text(encoding="utf-8")
    assert "By kind of negative" in page


def test_an_edition_without_assertions_has_one_row_and_no_table(tmp_path: Path) -> None:
    small = publish(tmp_path, set())
    rows = small.query("select is_asserted, n_pairs from accuracy_by_negative where model_id = 'always_true'")
    assert [(row["is_asserted"], row["n_pairs"]) for row in rows] == [(False, 4)]
    assert "By kind of negative" not in write_report(small.root, EDITION).read_text(encoding="utf-8")
