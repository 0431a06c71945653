"""The scoring policies in comparison: the rows of each, and the common no-answer rate."""

import pytest

from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.expected_views import group, judge_samples
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse

POLICIES = ("strict", "coin-flip", "excluded")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Publish an expert and a model that is right on three samples in four, under every policy."""
    data = fill_pairs(DataFolder(tmp_path_factory.mktemp("policies") / "data"))
    data.write_edition(EDITION)
    for rule in (simulated_models.expert, simulated_models.erratic):
        data.write_model(rule.__name__)
        data.write_answers(EDITION, rule.__name__, rule, policies=POLICIES)
    build_warehouse(data.root)
    return data


def test_average_accuracy_under_each(scored: DataFolder) -> None:
    rows = scored.query("from average_accuracy where model_id = 'erratic'")
    average = {row["scoring_policy"]: row for row in rows}
    samples = judge_samples(scored, "pretexeval", simulated_models.erratic, "strict")
    answered = [s for s in samples if s["answer"] is not None]
    n_right = sum(s["is_correct"] for s in answered)
    n_lucky = sum(s["answer"] is None and s["label"] for s in samples)
    assert n_lucky > 0
    assert average["strict"]["average_accuracy"] == n_right / 64
    assert average["coin-flip"]["average_accuracy"] == (n_right + n_lucky) / 64
    assert average["excluded"]["average_accuracy"] == n_right / len(answered)
    assert average["excluded"]["n_samples"] == len(answered)


def test_an_incomplete_pair_is_left_out_only_where_it_is_excluded(scored: DataFolder) -> None:
    rows = scored.query("from joint_accuracy where model_id = 'erratic' and unit = 'pair'")
    left_out = {row["scoring_policy"]: row["n_left_out"] for row in rows}
    pairs = group(
        judge_samples(scored, "pretexeval", simulated_models.erratic, "strict"), lambda r: r["pair_id"]
    )
    n_mute = sum(any(s["answer"] is None for s in samples) for samples in pairs.values())
    assert n_mute > 0
    assert left_out == {"strict": 0, "coin-flip": 0, "excluded": n_mute}
