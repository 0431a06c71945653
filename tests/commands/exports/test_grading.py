"""Scores in exported tasks are those of the warehouse."""

import math

import duckdb
import pytest

from commands.exports.grading import (
    GradedSample,
    compute_accuracy,
    compute_joint_accuracy,
    compute_mastery,
    estimate_accuracy_error,
    estimate_joint_error,
    estimate_mastery_error,
)


def grade(*pairs: tuple[str, str]) -> list[GradedSample]:
    """Return the samples of pairs of triplets with two samples each: R right, W wrong, - missing."""
    return [
        GradedSample(f"p{number}", f"t{number}{side}", 2, grade == "R")
        for number, pair in enumerate(pairs)
        for side, grades in enumerate(pair)
        for grade in grades
        if grade != "-"
    ]


PAIRS = grade(("RR", "RR"), ("RR", "RW"), ("WW", "RW"), ("RR", "R-"), ("WR", "WW"))


def test_scores_count_complete_triplets_and_pairs() -> None:
    assert compute_accuracy(PAIRS) == 12 / 19
    assert compute_joint_accuracy(PAIRS) == 4 / 9
    assert compute_mastery(PAIRS) == 1 / 4
    assert math.isnan(compute_mastery(grade(("R-", "RR"))))
    assert math.isnan(compute_accuracy([]))


def test_standard_errors_are_those_of_the_views() -> None:
    """V = p(1 − p) / robust_n, where robust_n is the macro of the warehouse (warehouse/intervals.sql)."""
    connection = duckdb.connect()
    with open("warehouse/intervals.sql", encoding="utf-8") as file:
        connection.execute(file.read())

    def estimate(clusters: list[tuple[int, int]]) -> float:
        rows = ", ".join(map(str, clusters))
        query = f"select robust_n(c, n), share(c, n) from (values {rows}) as clusters(c, n)"
        robust_n, share = connection.execute(query).fetchall()[0]
        return math.sqrt(share * (1 - share) / robust_n)

    assert estimate_accuracy_error(PAIRS) == pytest.approx(estimate([(4, 4), (3, 4), (1, 4), (3, 3), (1, 4)]))
    assert estimate_joint_error(PAIRS) == pytest.approx(estimate([(2, 2), (1, 2), (0, 2), (1, 1), (0, 2)]))
    assert estimate_mastery_error(PAIRS) == pytest.approx(estimate([(1, 1), (0, 1), (0, 1), (0, 1)]))
    assert math.isnan(estimate_accuracy_error(grade(("RW", "WR"))))
