"""Verdicts per relation: those of the intervals where there is one relation, and harder to get with more."""

import pytest

from report.contents import Row
from report.model_difference import estimate_p_value, judge, judge_relations


def make_row(difference: float, half_width: float, n_effective: float = 40.0) -> Row:
    return {
        "difference": difference,
        "difference_ci_low": difference - half_width,
        "difference_ci_high": difference + half_width,
        "n_effective": n_effective,
    }


@pytest.mark.parametrize("difference", [-0.3, -0.101, -0.099, 0.0, 0.05, 0.11, 0.9])
def test_a_single_relation_has_the_verdict_of_its_interval(difference: float) -> None:
    row = make_row(difference, 0.1)
    ((verdict, value),) = judge_relations([row])
    assert verdict == judge(row)
    assert (value < 0.05) == (verdict != "not distinguishable")


def test_many_relations_that_differ_by_chance_have_no_verdict() -> None:
    rows = [make_row(sign * 0.11, 0.1) for sign in (1, -1) * 10]
    assert {judge(row) for row in rows} == {"better", "worse"}
    assert {verdict for verdict, _ in judge_relations(rows)} == {"not distinguishable"}
    clear = [*rows, make_row(-0.5, 0.1)]
    assert [verdict for verdict, _ in judge_relations(clear)][-1] == "worse"


def test_the_adjustment_is_that_of_holm() -> None:
    rows = [make_row(difference, 0.1) for difference in (0.12, 0.2, 0.15, 0.01)]
    first, second, third, last = sorted(map(estimate_p_value, rows))
    expected = [4 * first, 3 * second, 2 * third, last]
    found = dict(zip(map(estimate_p_value, rows), (value for _, value in judge_relations(rows)), strict=True))
    assert [found[value] for value in (first, second, third, last)] == pytest.approx(expected)
