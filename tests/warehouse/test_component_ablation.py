"""The worth of transformations and of rephrasing: the scores without either."""

import pytest

from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder, Rule
from tests.support.expected_views import (
    expected_average,
    expected_difference,
    expected_joint,
    expected_mastery,
    judge_samples,
    pair_up,
)
from tests.support.stage_rows import Row
from tests.support.two_models import first, publish_contest, second
from tests.warehouse.test_accuracy_views import pick


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    return publish_contest(tmp_path_factory.mktemp("contest") / "data")


COMPONENTS = {
    "full": ("pretexeval", NAMES),
    "without_transformations": ("pretexeval", ("none",)),
    "without_rephrasing": ("prototype", NAMES),
}


def component_samples(data: DataFolder, rule: Rule, component: str) -> list[Row]:
    method, names = COMPONENTS[component]
    samples = judge_samples(data, method, rule, "strict")
    return [sample for sample in samples if sample["transformation"] in names]


@pytest.mark.parametrize("rule", [first, second])
def test_component_ablation(contest: DataFolder, rule: Rule) -> None:
    model_id = "one" if rule is first else "two"
    rows = contest.query(f"from component_ablation where model_id = '{model_id}'")
    assert [row["component"] for row in rows] == list(COMPONENTS)
    for row in rows:
        own = component_samples(contest, rule, row["component"])
        k = len(COMPONENTS[row["component"]][1])
        expected = expected_average(own) | expected_joint(own, k) | expected_mastery(own, k)
        assert pick(row, expected) == pytest.approx(expected)
        assert row["k"] == k


@pytest.mark.parametrize("rule", [first, second])
@pytest.mark.parametrize("component", list(COMPONENTS)[1:])
def test_what_a_component_is_worth(contest: DataFolder, rule: Rule, component: str) -> None:
    where = f"model_id = '{'one' if rule is first else 'two'}'"
    full, row = contest.query(
        f"from component_ablation where {where} and component in ('full', '{component}')"
    )
    whole = component_samples(contest, rule, "full")
    own = {(r["triplet_id"], r["transformation"]): r for r in component_samples(contest, rule, component)}
    n = len(COMPONENTS[component][1])
    against = [own[r["triplet_id"], "none" if n == 1 else r["transformation"]] for r in whole]
    expected = expected_difference(pair_up(against, whole))
    del expected["difference_se"]
    assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
    assert row["n_shared_pairs"] == 40
    for measure, difference in {
        "average_accuracy": "difference",
        "joint_accuracy": "joint_difference",
        "mastery": "mastery_difference",
    }.items():
        assert row[difference] == pytest.approx(row[measure] - full[measure])
        assert row[f"{difference}_ci_low"] < row[difference] < row[f"{difference}_ci_high"]
        assert full[difference] is full[f"{difference}_ci_low"] is None
