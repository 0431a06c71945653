import pytest

from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.expected_views import (
    expected_average,
    expected_curve,
    expected_joint,
    expected_mastery,
    judge_samples,
)
from tests.warehouse.test_accuracy_views import (
    ALL_OF_4,
    EVERY_POLICY,
    EVERY_RULE,
    pick,
    query_view,
)
from warehouse.publishing import build_warehouse


@EVERY_RULE
@EVERY_POLICY
@pytest.mark.parametrize(("method", "k"), [("pretexeval", 8), ("direct", 1)])
def test_joint_accuracy(published: DataFolder, rule: Rule, policy: str, method: str, k: int) -> None:
    by_triplet, by_pair = query_view(published, "joint_accuracy", rule, policy, method)
    samples = judge_samples(published, method, rule, policy)
    triplets, pairs = expected_joint(samples, k), expected_mastery(samples, k)
    names = ("n_units", "joint_accuracy", "ci_low", "ci_high")
    assert [by_triplet[n] for n in names] == pytest.approx(list(triplets.values()))
    assert [by_pair[n] for n in names] == pytest.approx(list(pairs.values()))
    assert (by_triplet["unit"], by_pair["unit"]) == ("triplet", "pair")
    assert by_triplet["n_left_out"] == 8 - triplets["n_triplets"]
    assert by_pair["n_left_out"] == 4 - pairs["n_complete_pairs"]
    assert by_pair["n_samples"] == 2 * k * pairs["n_complete_pairs"]
    assert by_pair["no_answer_rate"] == expected_average(samples)["no_answer_rate"]


def test_all_right_has_an_interval_below_one(published: DataFolder) -> None:
    for row in query_view(published, "joint_accuracy", simulated_models.expert, "strict"):
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(ALL_OF_4, abs=1e-6)


@pytest.mark.parametrize(
    "rule", [simulated_models.always_true, simulated_models.polarity, simulated_models.erratic]
)
def test_joint_accuracy_curve(published: DataFolder, rule: Rule) -> None:
    rows = query_view(published, "joint_accuracy_curve", rule, "strict")
    samples = judge_samples(published, "pretexeval", rule, "strict")
    assert [row["n"] for row in rows] == list(range(1, 9))
    assert [row["joint_accuracy"] for row in rows] == pytest.approx(expected_curve(samples, 8))
    assert {(row["n_triplets"], row["n_pairs"], row["n_samples"]) for row in rows} == {(8, 4, 64)}


def test_triplets_with_too_few_lines_are_left_out_and_counted(data: DataFolder) -> None:
    data.usable_lines = {"Influenza": 7}
    data.write_edition("llmeval-seed1-00000003", ("llmeval",))
    data.write_answers("llmeval-seed1-00000003", "expert", simulated_models.expert, methods=("llmeval",))
    build_warehouse(data.root)
    where = "where method = 'llmeval'"
    (average,) = data.query(f"select n_samples, average_accuracy from average_accuracy {where}")
    assert average == {"n_samples": 62, "average_accuracy": 1.0}
    rows = data.query(f"select unit, n_units, n_left_out, n_samples from joint_accuracy {where}")
    assert [tuple(row.values()) for row in rows] == [("triplet", 6, 2, 48), ("pair", 3, 1, 48)]
    assert data.query(f"select * from accuracy_by_transformation {where}") == []


def test_leaderboard(published: DataFolder) -> None:
    rows = published.query(
        "select * from leaderboard where method = 'pretexeval' and scoring_policy = 'strict'",
    )
    names = [row["model_id"] for row in rows]
    assert names[0] == "expert"
    assert names[-1] == "silent"
    ranks = {row["model_id"]: row["rank"] for row in rows}
    assert ranks["always_true"] == ranks["polarity"]
    checked = {
        rule.__name__: rule
        for rule in (simulated_models.expert, simulated_models.erratic, simulated_models.polarity)
    }
    for row in rows:
        if row["model_id"] in checked:
            own = judge_samples(published, "pretexeval", checked[row["model_id"]], "strict")
            expected = expected_average(own) | expected_joint(own, 8) | expected_mastery(own, 8)
            assert pick(row, expected) == pytest.approx(expected)
            assert row["gain_over_random"] == pytest.approx(expected["average_accuracy"] - 0.5)


@pytest.mark.parametrize(
    ("rule", "consistency"),
    [(simulated_models.expert, 1.0), (simulated_models.always_true, 0.0), (simulated_models.polarity, 1.0)],
)
def test_consistency(published: DataFolder, rule: Rule, consistency: float) -> None:
    (row,) = query_view(published, "leaderboard", rule, "strict")
    assert row["consistency"] == consistency


def test_missed_points_by_hand(published: DataFolder) -> None:
    assert query_view(published, "missed_points", simulated_models.expert, "strict") == []
    rows = {
        row["head"]: row
        for row in query_view(published, "missed_points", simulated_models.always_true, "strict")
    }
    assert sorted(rows) == ["Angina pectoris", "Influenza", "Scabies", "Scurvy"]
    scurvy = rows["Scurvy"]
    assert (scurvy["relation"], scurvy["true_tail"], scurvy["false_tail"]) == (
        "drugs",
        "Vitamin C",
        "Quinine",
    )
    assert (scurvy["n_samples"], scurvy["n_correct"], scurvy["n_no_answer"]) == (16, 8, 0)
    assert scurvy["wrong_of_true"] == ["dn", "inv_dn", "ins_dn", "inv_ins_dn"]
    assert scurvy["wrong_of_false"] == ["none", "inv", "ins", "inv_ins"]
    polar = query_view(published, "missed_points", simulated_models.polarity, "strict")
    assert all(row["wrong_of_true"] == [] and len(row["wrong_of_false"]) == 8 for row in polar)
