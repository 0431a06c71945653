"""Two models on the same pairs, two methods of one model, and one model in two editions."""

import pytest
from scipy.stats import binom, binomtest, norm

from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.expected_views import (
    expected_difference,
    expected_scores,
    match,
    observe_joint,
    observe_pairs,
    pair_up,
    pick,
    read_predictions,
    select,
)
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION, publish_signs

MEASURES = ("average_accuracy", "joint_accuracy", "mastery")


def draw(*parts: object) -> int:
    return int(digest(*parts), 16) % 100


def one(sample: Row) -> bool | None:
    """Answer three pairs in four right, and the plain form of the others."""
    knows = draw("first", sample["pair_id"]) < 75 or sample["transformation"] == "none"
    return bool(sample["label"]) if knows else simulated_models.erratic(sample)


def two(sample: Row) -> bool | None:
    """Answer two pairs in five right, and most of the prototypes."""
    limit = 80 if sample["method"] == "prototype" else 40
    is_right = draw("second", sample["pair_id"]) < limit
    return simulated_models.expert(sample) if is_right else simulated_models.polarity(sample)


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Publish two models that master different ones of 40 pairs."""
    return publish_signs(tmp_path_factory.mktemp("contest"), 40, (one, two), ("pretexeval", "prototype"))


@pytest.fixture(scope="module")
def predictions(contest: DataFolder) -> list[Row]:
    return read_predictions(contest.root, EDITION)


@pytest.fixture(scope="module")
def sides(predictions: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the predictions of both models by the method pretexeval."""
    mine, theirs = (select(predictions, model_id=name, method="pretexeval") for name in ("one", "two"))
    return mine, theirs


def test_mastery_is_compared_pair_by_pair(contest: DataFolder, sides: tuple[list[Row], list[Row]]) -> None:
    (row,) = contest.query("from model_comparison where method = 'pretexeval'")
    matched = match(*(observe_pairs(side, 8) for side in sides))
    b, c = sum(o.gained for o in matched), sum(o.lost for o in matched)
    assert b > c > 0
    assert (row["n_mastered_alone"], row["n_other_mastered_alone"]) == (b, c)
    assert row["mcnemar_p"] == pytest.approx(binomtest(c, b + c).pvalue)
    assert row["mcnemar_mid_p"] == pytest.approx(row["mcnemar_p"] - binom.pmf(c, b + c, 0.5))
    assert row["mastery_difference"] == pytest.approx((b - c) / 40)
    # Here, Newcombe's method 10 without continuity correction agrees with Wald's within a few per cent.
    wald = norm.ppf(0.975) * (b + c - (b - c) ** 2 / 40) ** 0.5 / 40
    width = row["mastery_difference_fixed_base_ci_high"] - row["mastery_difference_fixed_base_ci_low"]
    assert width / 2 == pytest.approx(wald, rel=0.1)
    power = float((norm.ppf(0.975) + norm.ppf(0.8)) / norm.ppf(0.975) / 2)
    width = row["difference_ci_high"] - row["difference_ci_low"]
    assert row["detectable_difference"] == pytest.approx(power * width)
    for row in contest.query("from leaderboard where method = 'pretexeval'"):
        expected = power * 2**0.5 * (row["mastery_ci_high"] - row["mastery_ci_low"])
        assert row["detectable_mastery_difference"] == pytest.approx(expected)


def test_every_measure_of_two_models(contest: DataFolder, sides: tuple[list[Row], list[Row]]) -> None:
    rows = contest.query(
        "from storage.paired_models where method = 'pretexeval' and model_id = 'one' "
        "order by relation nulls first, measure"
    )
    keys = [(relation, measure) for relation in (None, "signs") for measure in MEASURES]
    assert [(row["relation"], row["measure"]) for row in rows] == keys
    assert [row["n_observations"] for row in rows[:3]] == [640, 80, 40]
    mine, theirs = (expected_scores(side, 8) for side in sides)
    matched = (
        pair_up(*sides),
        match(*(observe_joint(side, 8) for side in sides)),
        match(*(observe_pairs(side, 8) for side in sides)),
    )
    for row, observations in zip(rows, matched, strict=False):
        for scores, other in ((mine, ""), (theirs, "other_")):
            assert row[f"{other}score"] == pytest.approx(scores[row["measure"]])
        difference = expected_difference(observations)
        del difference["difference_se"]
        assert pick(row, difference) == pytest.approx(difference, abs=1e-7)
    # The only relation has the same pairs as the whole.
    assert [row | {"relation": None} for row in rows[3:]] == rows[:3]


@pytest.mark.parametrize(
    ("component", "method"), [("without_transformations", "pretexeval"), ("without_rephrasing", "prototype")]
)
def test_what_a_component_is_worth(
    contest: DataFolder, predictions: list[Row], component: str, method: str
) -> None:
    for model_id in ("one", "two"):
        full, row = contest.query(
            f"from ablations where model_id = '{model_id}' and component in ('full', '{component}')"
        )
        whole, other = (
            select(predictions, model_id=model_id, method=name) for name in ("pretexeval", method)
        )
        own = {(r["triplet_id"], r["transformation"]): r for r in other}
        is_plain = component == "without_transformations"
        against = [own[r["triplet_id"], "none" if is_plain else r["transformation"]] for r in whole]
        expected = expected_difference(pair_up(against, whole))
        del expected["difference_se"]
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
        assert row["n_shared_pairs"] == 40
        for measure, name in zip(
            MEASURES, ("difference", "joint_difference", "mastery_difference"), strict=True
        ):
            assert row[name] == pytest.approx(row[measure] - full[measure])
            assert row[f"{name}_ci_low"] < row[name] < row[f"{name}_ci_high"]
            assert full[name] is full[f"{name}_ci_low"] is None
