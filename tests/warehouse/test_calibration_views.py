"""What the log-probabilities of True and False are worth."""

from math import exp

import pytest
from scipy.stats import mannwhitneyu

from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Weigh
from tests.support.expected_clusters import share
from tests.support.expected_views import expected_interval, group, judge_samples, observe
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

Weights = tuple[float | None, float | None]


def hunch(sample: Row) -> Weights:
    """Prefer the label, in steps with ties; one sample in eight has no log-probabilities."""
    draw = int(digest("hunch", sample["text"]), 16) % 64
    if draw % 8 == 0:
        return (None, -1.0) if draw % 16 else (-1.0, None)
    lean = (draw % 9 - 3) / 2
    return (-1.0, -1.0 - lean) if sample["label"] else (-1.0 - lean, -1.0)


def sure(sample: Row) -> Weights:
    """Prefer the right answer so strongly that the other one has the probability 0."""
    return (0.0, -800.0) if sample["label"] else (-800.0, 0.0)


def flat(sample: Row) -> Weights:
    return -0.7, -0.7


def unknown(sample: Row) -> Weights:
    return None, None


WEIGHS: tuple[Weigh, ...] = (hunch, sure, flat, unknown)


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Return a published data folder with 30 pairs, and a model for each way to weigh."""
    data = DataFolder(tmp_path_factory.mktemp("weighed") / "data")
    for k in range(30):
        data.add_pair("signs", f"Disease {k}", f"Sign {k}", f"Sign {k + 1}")
    data.write_edition(EDITION)
    for weigh in WEIGHS:
        data.write_model(weigh.__name__)
        data.write_answers(
            EDITION, weigh.__name__, simulated_models.erratic, weigh=weigh, policies=("excluded", "strict")
        )
    build_warehouse(data.root)
    return data


def weigh_samples(data: DataFolder, weigh: Weigh) -> list[tuple[Row, float]]:
    """Return the samples with both log-probabilities, each with its p_true."""
    samples = judge_samples(data, "pretexeval", simulated_models.erratic, "strict")
    both = [(sample, *weigh(sample)) for sample in samples]
    return [(s, 1 / (1 + exp(no - yes))) for s, yes, no in both if yes is not None and no is not None]


def test_probability_calibration(weighed: DataFolder) -> None:
    (row,) = weighed.query("from probability_calibration where model_id = 'hunch'")
    scored = weigh_samples(weighed, hunch)
    n = len(scored)
    true = [p for sample, p in scored if sample["label"]]
    false = [p for sample, p in scored if not sample["label"]]
    assert (row["n_samples"], row["missing_rate"]) == (n, pytest.approx(1 - n / 480))
    assert 0 < n < 480
    u = mannwhitneyu(true, false).statistic
    assert row["auroc"] == pytest.approx(u / len(true) / len(false))
    assert row["brier_score"] == pytest.approx(sum((p - s["label"]) ** 2 for s, p in scored) / n)
    bins = group(scored, lambda item: min(int(item[1] * 10), 9))
    gaps = [abs(sum(p - s["label"] for s, p in items)) for items in bins.values()]
    assert row["calibration_error"] == pytest.approx(sum(gaps) / n)


def test_the_likelier_answer(weighed: DataFolder) -> None:
    (row,) = weighed.query("from probability_calibration where model_id = 'hunch'")
    right = [(s, p != 0.5 and (p > 0.5) == s["label"]) for s, p in weigh_samples(weighed, hunch)]
    observed = group(right, lambda item: item[0]["triplet_id"]).values()
    observations = [
        observe([s for s, _ in items], sum(is_right for _, is_right in items), 0) for items in observed
    ]
    assert row["average_accuracy"] == pytest.approx(share(observations))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected_interval(observations))
    assert (row["n_pairs"], row["no_answer_rate"] > 0) == (30, True)


def test_calibration_bins(weighed: DataFolder) -> None:
    rows = weighed.query("from calibration_bins where model_id = 'hunch'")
    bins = group(weigh_samples(weighed, hunch), lambda item: min(int(item[1] * 10), 9))
    assert [round(row["p_low"] * 10) for row in rows] == sorted(bins, key=str)
    for row in rows:
        items = bins[round(row["p_low"] * 10)]
        assert row["n_samples"] == len(items)
        assert row["mean_p_true"] == pytest.approx(sum(p for _, p in items) / len(items))
        assert row["true_rate"] == pytest.approx(sum(s["label"] for s, _ in items) / len(items))
        assert row["p_low"] <= row["mean_p_true"] <= row["p_high"] == pytest.approx(row["p_low"] + 0.1)
