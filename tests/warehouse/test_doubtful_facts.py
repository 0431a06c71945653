"""Facts whose standing is in doubt, because the base changed them."""

from math import sqrt

import pytest

from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

# Relation -> the heads whose fact was removed, and those whose fact was kept.
REMOVED = {"signs": ("a", "b", "c"), "causes": ("d",), "drugs": ("e", "f")}
KEPT = {"signs": ("k", "l"), "causes": ("m", "n", "o", "p", "q")}
# The prompt of one form of this removed fact failed, so that it is not known whether the model affirms it.
FAILED = "f"
AFFIRMED = {"a", "b", "d", "k", "l", "m", FAILED}
# The model affirms this fact in seven forms, and gives no answer to the eighth.
UNCLEAR = "c"


def affirm(sample: Row) -> bool | None:
    if sample["head"] == UNCLEAR and sample["transformation"] == "inv":
        return None
    is_affirmed = sample["is_positive"] and (sample["head"] in AFFIRMED or sample["head"] == UNCLEAR)
    is_denial = bool(sample["label"] != sample["is_positive"])
    return bool(is_affirmed) != is_denial


def fail_once(sample: Row) -> str | None:
    is_chosen = sample["head"] == FAILED and sample["transformation"] == "inv" and sample["is_positive"]
    return "HTTP 500" if is_chosen else None


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    data = DataFolder(tmp_path_factory.mktemp("changed") / "data", releases=("2019-01-01", "2021-01-01"))
    for heads, age in ((REMOVED, "removed"), (KEPT, "2019-01-01")):
        for relation, names in heads.items():
            for head in names:
                # Two kept facts have a tail that is more common than those of the removed facts.
                tail = "shared tail" if head in ("o", "p") else f"tail of {head}"
                data.add_pair(relation, head, tail, f"false tail of {head}")
                data.ages[head] = age
    data.ages |= {"m": "2021-01-01", "n": "new"}
    data.write_edition(EDITION)
    data.write_model("reader", training_cutoff="2020-06-01")
    data.write_answers(EDITION, "reader", affirm, policies=("excluded", "strict"), fail=fail_once)
    data.write_model("unasked", training_cutoff="2020-06-01")
    build_warehouse(data.root)
    return data


def test_kept_facts_have_the_relations_of_those_beside_them(changed: DataFolder) -> None:
    rows = {(row["origin"], row["compared_with"]): row for row in changed.query("from stale_beliefs")}
    assert rows.keys() == {
        ("removed", "kept"),
        ("removed", "new"),
        ("removed", "false twins"),
        ("new", "kept"),
        ("new", "false twins"),
    }
    kept = rows["removed", "kept"]
    # Nothing is kept of the relation of e, so that it is not compared.
    assert (kept["n_facts"], kept["n_compared"]) == (4, 4)
    assert kept["all_affirmed_rate"] == pytest.approx(3 / 4)
    assert kept["compared_rate"] == pytest.approx(3 / 4 * 1 + 1 / 4 * 1 / 2)
    assert kept["difference"] == pytest.approx(3 / 4 - (3 / 4 + 1 / 8))
    low, high = (kept[f"all_affirmed_rate_ci_{end}"] for end in ("low", "high"))
    below, above = (kept[f"compared_rate_ci_{end}"] for end in ("low", "high"))
    assert low < kept["all_affirmed_rate"] < high
    spread = sqrt((kept["all_affirmed_rate"] - low) ** 2 + (above - kept["compared_rate"]) ** 2)
    assert kept["difference_ci_low"] == pytest.approx(kept["difference"] - spread)
    spread = sqrt((high - kept["all_affirmed_rate"]) ** 2 + (kept["compared_rate"] - below) ** 2)
    assert kept["difference_ci_high"] == pytest.approx(kept["difference"] + spread)
    twins = rows["removed", "false twins"]
    assert (twins["n_facts"], twins["all_affirmed_rate"], twins["compared_rate"]) == (5, 3 / 5, 0)
    new = rows["removed", "new"]
    assert (new["n_facts"], new["n_compared"], new["all_affirmed_rate"], new["compared_rate"]) == (1, 1, 1, 0)


def test_facts_are_apart_by_whether_they_were_listed_before_the_training(changed: DataFolder) -> None:
    rows = changed.query(
        "select model, group_name, n_pairs, mastery from accuracy_by_group "
        "where grouping_by = 'training cutoff' and scoring_policy = 'strict' order by group_position"
    )
    # The fact of m was listed by the release after the cutoff, but may have been listed before.
    assert [tuple(row.values()) for row in rows] == [
        ("Reader", "listed before", 5, 2 / 5),
        ("Reader", "listed after", 1, 0.0),
    ]


def test_no_score_counts_a_removed_fact(changed: DataFolder) -> None:
    (strict,) = changed.query("from leaderboard where scoring_policy = 'strict'")
    assert (strict["n_pairs"], strict["mastery"], strict["pair_left_out_rate"]) == (7, 3 / 7, 0)
    assert changed.query("select count(*) as n from sample_scores") == [{"n": 7 * 16 * 2}]
    baselines = changed.query("select distinct n_pairs from shortcut_baselines where relation is null")
    assert baselines == [{"n_pairs": 7}]
    weighted = changed.query(
        "select group_name, mastery from scores where grouping_by = 'weighting' and scoring_policy = 'strict'"
    )
    assert {row["group_name"]: row["mastery"] for row in weighted} == pytest.approx(
        {"pairs": 3 / 7, "facts": 3 / 7, "relations": (1 + 1 / 5) / 2}
    )
