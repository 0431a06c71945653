"""Two models on the same pairs, by measure and relation, and one model in two editions."""

from dataclasses import replace

import pytest

from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.expected_clusters import Observation
from tests.support.expected_views import (
    expected_average,
    expected_difference,
    expected_joint,
    expected_mastery,
    judge_samples,
    observe_triplets,
)
from tests.support.two_models import first, publish_contest, second
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse

FRESH = "tiny-seed2-00000002"
LIMITS = ("", "_ci_low", "_ci_high", "_fixed_base_ci_low", "_fixed_base_ci_high")


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    return publish_contest(tmp_path_factory.mktemp("contest") / "data")


def observe_joint(data: DataFolder, one: Rule, other: Rule) -> list[Observation]:
    """Return, per triplet, whether only one of the two gives eight right answers."""
    both = (observe_triplets(judge_samples(data, "pretexeval", rule, "strict")) for rule in (one, other))
    return [
        replace(a, gained=int(a.gained == 8 != b.gained), lost=int(b.gained == 8 != a.gained), n=1)
        for a, b in zip(*both, strict=True)
    ]


def test_every_measure_by_hand(contest: DataFolder) -> None:
    rows = contest.query(f"from compare_models('{EDITION}', 'one', 'two')")
    assert [(row["relation"], row["measure"]) for row in rows] == [
        (relation, measure)
        for relation in (None, "signs")
        for measure in ("average_accuracy", "joint_accuracy", "mastery")
    ]
    average, joint, mastery = rows[:3]
    mine, theirs = (judge_samples(contest, "pretexeval", rule, "strict") for rule in (first, second))
    own = expected_average(mine) | expected_joint(mine, 8) | expected_mastery(mine, 8)
    others = expected_average(theirs) | expected_joint(theirs, 8) | expected_mastery(theirs, 8)
    for row, name, ends in (
        (average, "average_accuracy", ""),
        (joint, "joint_accuracy", "joint_"),
        (mastery, "mastery", "mastery_"),
    ):
        assert row["score"] == pytest.approx(own[name])
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((own[f"{ends}ci_low"], own[f"{ends}ci_high"]))
        assert row["other_score"] == pytest.approx(others[name])
        assert row["other_ci_low"] == pytest.approx(others[f"{ends}ci_low"])
    assert [row["n_observations"] for row in rows[:3]] == [640, 80, 40]
    expected = expected_difference(observe_joint(contest, first, second))
    found = [joint[name] for name in ("difference", "difference_ci_low", "difference_ci_high")]
    assert found == pytest.approx([expected[f"difference{end}"] for end in LIMITS[:3]], abs=1e-7)
    # The only relation has the same pairs as the whole.
    assert [row | {"relation": None} for row in rows[3:]] == rows[:3]


@pytest.fixture(scope="module")
def two_editions(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Return a folder with two editions.

    In the second, Scabies is gone, Gout is new, Influenza has another false tail, and Scurvy other texts.
    """
    old = fill_pairs(DataFolder(tmp_path_factory.mktemp("editions") / "data"))
    new = fill_pairs(DataFolder(old.root, wordings={"Scurvy": "fresh "}))
    new.pairs = [pair for pair in new.pairs if pair[1] != "Scabies"]
    new.pairs[0] = ("symptoms", "Influenza", "Fever", "Headache", "test")
    new.add_pair("symptoms", "Gout", "Swelling", "Itch")
    old.write_edition(EDITION)
    new.write_edition(FRESH)
    for rule in (simulated_models.expert, simulated_models.polarity):
        old.write_model(rule.__name__)
        old.write_answers(EDITION, rule.__name__, rule)
        new.write_answers(FRESH, rule.__name__, rule)
    build_warehouse(old.root)
    return old


def test_a_model_in_two_editions_is_compared_on_the_pairs_of_both(two_editions: DataFolder) -> None:
    rows = two_editions.query(f"from compare_editions('{EDITION}', '{FRESH}') where relation is null")
    assert [(row["model_id"], row["measure"]) for row in rows] == [
        (model, measure)
        for model in ("expert", "polarity")
        for measure in ("average_accuracy", "joint_accuracy", "mastery")
    ]
    # Angina pectoris and Scurvy: the false tail of Influenza is another one.
    assert [row["n_observations"] for row in rows[:3]] == [32, 4, 2]
    assert {row["difference"] for row in rows} == {0.0}
