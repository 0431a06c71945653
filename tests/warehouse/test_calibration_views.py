"""What the log-probabilities of True and False are worth."""

from math import exp
from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu

from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.expected_clusters import share
from tests.support.expected_views import expected_share, group, observe, pick, read_predictions, select
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

N_PAIRS = 30


def weigh(sample: Row) -> tuple[float | None, float | None]:
    """Prefer the label, in steps with ties; one sample in eight lacks one of its log-probabilities."""
    draw = int(digest("hunch", sample["sample_id"]), 16) % 64
    if draw % 8 == 0:
        return (None, -1.0) if draw % 16 else (-1.0, None)
    lean = (draw % 9 - 3) / 2
    return (-1.0, -1.0 - lean) if sample["label"] else (-1.0 - lean, -1.0)


def test_probability_calibration_and_its_bins(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    for k in range(N_PAIRS):
        data.add_pair("signs", f"Disease {k}", f"Sign {k}", f"Sign {k + 1}")
    data.write_edition(EDITION)
    data.write_model("hunch")
    policies = ("excluded", "strict")
    data.write_answers(EDITION, "hunch", simulated_models.erratic, weigh=weigh, policies=policies)
    build_warehouse(data.root)
    samples = select(read_predictions(data.root, EDITION), scoring_policy="strict")
    weighed = [(sample, *weigh(sample)) for sample in samples]
    scored = [(s, 1 / (1 + exp(no - yes))) for s, yes, no in weighed if yes is not None and no is not None]
    (row,) = data.query("from probability_calibration")
    n = len(scored)
    assert 0 < n < 16 * N_PAIRS
    assert (row["n_samples"], row["missing_rate"]) == (n, pytest.approx(1 - n / (16 * N_PAIRS)))
    true, false = ([p for sample, p in scored if sample["label"] is label] for label in (True, False))
    assert row["auroc"] == pytest.approx(mannwhitneyu(true, false).statistic / len(true) / len(false))
    assert row["brier_score"] == pytest.approx(sum((p - s["label"]) ** 2 for s, p in scored) / n)
    bins = group(scored, lambda item: min(int(item[1] * 10), 9))
    gaps = [abs(sum(p - s["label"] for s, p in items)) for items in bins.values()]
    assert row["calibration_error"] == pytest.approx(sum(gaps) / n)
    # The likelier answer is scored as an answer; a tie is wrong.
    right = group(
        ((s, p != 0.5 and (p > 0.5) == s["label"]) for s, p in scored), lambda item: item[0]["triplet_id"]
    )
    observations = [observe([s for s, _ in items], sum(r for _, r in items), 0) for items in right.values()]
    expected = {"average_accuracy": share(observations)} | expected_share(observations)
    assert pick(row, expected) == pytest.approx(expected)
    rows = data.query("from calibration_bins")
    assert [round(row["p_low"] * 10) for row in rows] == sorted(bins, key=str)
    for row in rows:
        items = bins[round(row["p_low"] * 10)]
        assert row["n_samples"] == len(items)
        assert row["mean_p_true"] == pytest.approx(sum(p for _, p in items) / len(items))
        assert row["true_rate"] == pytest.approx(sum(s["label"] for s, _ in items) / len(items))
        assert row["p_low"] <= row["mean_p_true"] <= row["p_low"] + 0.1 + 1e-9
