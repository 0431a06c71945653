"""Which differences are certain, who leads a ranking, and what is said of two models and their relations."""

import pytest
from scipy.stats import norm

from report.certainty import adjust, order_certainly, select_certain
from report.contents import Row
from report.leaders import describe_comparison, describe_lead, find_lead
from report.model_difference import judge, judge_relations, write_points


def differ(difference: float | None, half: float | None = 0.1, relation: str = "r") -> Row:
    known = difference is not None and half is not None
    low, high = (difference - half, difference + half) if known else (None, None)  # type: ignore[operator]
    limits = {"difference_ci_low": low, "difference_ci_high": high}
    p_value = float(2 * norm.sf(abs(difference or 0) / (half or 1) * norm.isf(0.025))) if known else None
    return {"relation": relation, "difference": difference, "p_value": p_value} | limits


def differ_each(*differences: float | None) -> list[Row]:
    return [differ(difference, relation=f"r{k}") for k, difference in enumerate(differences)]


def test_one_relation_has_the_verdict_of_its_interval_and_many_are_adjusted_by_holm() -> None:
    for row in map(differ, (-0.3, -0.101, -0.099, 0.0, 0.11)):
        ((verdict, value),) = judge_relations([row])
        assert value is not None
        assert (verdict, value < 0.05) == (judge(row), verdict != "not distinguishable")
    rows = differ_each(*([0.11, -0.11] * 10))
    assert {judge(row) for row in rows} == {"better", "worse"}
    assert {verdict for verdict, _ in judge_relations(rows)} == {"not distinguishable"}
    assert [verdict for verdict, _ in judge_relations([*rows, differ(-0.5)])][-1] == "worse"
    rows = differ_each(0.12, 0.2, 0.15, 0.01)
    first, second, third, last = sorted(row["p_value"] for row in rows)
    adjusted = {row["p_value"]: value for row, value in zip(rows, adjust(rows), strict=True)}
    expected = [4 * first, 3 * second, 2 * third, last]
    assert [adjusted[value] for value in (first, second, third, last)] == pytest.approx(expected)


def test_a_difference_without_an_interval_is_never_certain_and_no_test() -> None:
    few = differ(0.9, None, "few")
    assert select_certain([few]) == []
    # Two tests, of which one passes at half the level; the third row does not count.
    near = differ(0.11)
    assert select_certain([near, few]) == [near]
    assert judge_relations([few, near])[0] == ("too few", None)
    assert write_points(few) == "+90.0 points (too few facts for an interval)"


def test_shares_have_an_order_only_where_their_intervals_are_apart() -> None:
    shares = {"low": (0.2, 0.1, 0.3), "near": (0.35, 0.25, 0.45), "high": (0.8, 0.7, 0.9)}
    assert [pair[:2] for pair in order_certainly(shares)] == [("low", "high"), ("near", "high")]
    # Of twenty-one shares, the largest and the smallest are apart by chance.
    many = {f"r{k:02}": (0.4 + k / 100, 0.32 + k / 100, 0.48 + k / 100) for k in range(21)}
    assert order_certainly(many) == []


def compare(one: str, other: str, mastery: float | None, half: float | None = 0.1) -> Row:
    limits = differ(mastery, half)
    measured = {f"mastery_{name}": limits[name] for name in limits if name != "relation"}
    return {"model_id": one, "other_model_id": other} | measured


AHEAD, LEVEL, FEW = compare("a", "b", 0.4), compare("a", "b", 0.05), compare("a", "b", 0.4, None)
THIRD, BEHIND = compare("a", "c", 0.3), compare("b", "c", 0.1, 0.2)
# The comparisons, the number of models, what the headline adds, and the heading of the section.
LEADS: list[tuple[list[Row], int, str, str]] = [
    ([], 1, "", "Too few facts to tell how far the models differ"),
    ([compare("a", "b", None)], 2, "", "Too few facts to tell how far the models differ"),
    ([FEW], 2, "", "Too few facts to tell how far the models differ"),
    ([LEVEL], 2, "is not distinguishable from B", "A cannot be told apart from B"),
    # B and C may well differ from each other.
    (
        [LEVEL, compare("a", "c", 0.06), compare("b", "c", 0.01, 0.005)],
        3,
        "is not distinguishable from B and C",
        "A cannot be told apart from B and C",
    ),
    ([AHEAD], 2, "is ahead of B", "A is ahead of B, by 40.0 points of mastery"),
    # Nothing is known about C.
    (
        [AHEAD],
        3,
        "is ahead of 1 of 2 others",
        "A is ahead of 1 of 2 others, by 40.0 points of mastery over the nearest, B",
    ),
    (
        [AHEAD, THIRD, BEHIND],
        3,
        "is ahead of all 2 others",
        "A is ahead of all 2 others, by 30.0 points of mastery over the nearest, C",
    ),
    # An interval that barely excludes 0 is not enough among three comparisons.
    (
        [compare("a", "b", 0.101), THIRD, BEHIND],
        3,
        "is not distinguishable from B",
        "A cannot be told apart from B",
    ),
    # The second model is the better one on the pairs that both answered.
    (
        [compare("a", "b", -0.4)],
        2,
        "is behind B on what both answered",
        "A is behind B on what both answered",
    ),
]


@pytest.mark.parametrize(("rows", "n_models", "headline", "heading"), LEADS)
def test_what_is_said_of_the_first_model(rows: list[Row], n_models: int, headline: str, heading: str) -> None:
    labels = {"a": "A", "b": "B", "c": "C"}
    lead = find_lead(list(labels)[:n_models], rows, "mastery")
    assert lead is not None
    assert (describe_lead(lead, labels), describe_comparison(lead, labels)) == (headline, heading)
