"""Every scoring policy beside the others: rows of each, and one rate of no answer."""

import pytest

from tests.support import simulated_models
from tests.support.data_folder import World, ask
from tests.support.expected_views import expected_average, group, judge_samples
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse.publish import build_warehouse

POLICIES = ("strict", "coin-flip", "excluded")
KEYED = (
    "average_accuracy",
    "joint_accuracy",
    "joint_accuracy_curve",
    "accuracy_by_relation",
    "accuracy_by_transformation",
    "accuracy_by_polarity",
    "transformation_ablation",
    "leaderboard",
    "component_ablation",
    "model_comparison",
    "prediction_details",
)


@pytest.fixture
def scored(world: World) -> World:
    """Published: an expert and one that is right on three samples in four, under every policy."""
    for rule in (simulated_models.expert, simulated_models.erratic):
        world.write_model(rule.__name__)
        world.write_answers(EDITION, rule.__name__, rule, policies=POLICIES)
    build_warehouse(world.root)
    return world


def test_every_view_has_the_same_rows_under_each(scored: World) -> None:
    for view in KEYED:
        rows = ask(scored, f"select scoring_policy, count(*) as n from {view} group by scoring_policy")
        counts = {row["scoring_policy"]: row["n"] for row in rows}
        assert set(counts) == set(POLICIES), view
        assert len(set(counts.values())) == 1, view


def test_average_accuracy_under_each(scored: World) -> None:
    rows = ask(scored, "from average_accuracy where model_id = 'erratic'")
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


@pytest.mark.parametrize(
    "view",
    ["average_accuracy", "joint_accuracy", "joint_accuracy_curve", "leaderboard", "component_ablation"],
)
def test_the_rate_of_no_answer_is_that_of_the_responses(scored: World, view: str) -> None:
    rows = ask(scored, f"from {view} where model_id = 'erratic'")
    if view == "component_ablation":
        rows = [row for row in rows if row["component"] == "full"]
    samples = judge_samples(scored, "pretexeval", simulated_models.erratic, "strict")
    assert {row["no_answer_rate"] for row in rows} == {expected_average(samples)["no_answer_rate"]}


def test_an_incomplete_pair_is_left_out_only_where_it_is_excluded(scored: World) -> None:
    rows = ask(scored, "from joint_accuracy where model_id = 'erratic' and unit = 'pair'")
    left_out = {row["scoring_policy"]: row["n_left_out"] for row in rows}
    pairs = group(
        judge_samples(scored, "pretexeval", simulated_models.erratic, "strict"), lambda r: r["pair_id"]
    )
    n_mute = sum(any(s["answer"] is None for s in samples) for samples in pairs.values())
    assert n_mute > 0
    assert left_out == {"strict": 0, "coin-flip": 0, "excluded": n_mute}


def test_the_probabilities_are_counted_once(scored: World) -> None:
    rows: list[Row] = ask(scored, "from probability_calibration where model_id = 'erratic'")
    assert [(row["n_samples"], row["missing_rate"]) for row in rows] == [(64, 0.0)]
    assert ask(scored, "select sum(n_samples) as n from calibration_bins where model_id = 'erratic'") == [
        {"n": 64}
    ]
