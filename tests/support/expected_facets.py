"""The expected accuracy of facets, computed question by question with the formulas of docs/statistics.md."""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from statistics import mean

from tests.support.expected_clusters import (
    Observation,
    difference_interval,
    measure_clustering,
    share,
    share_interval,
)
from tests.support.expected_views import group
from tests.support.question_folder import AnswerRule, FailRule, QuestionFolder, judge, never_fail, vote
from tests.support.stage_rows import Row

WHOLE = 10**8
PARTS = 2520
"""A revision question's accuracy is a number of these parts."""


def judge_questions(
    folder: QuestionFolder,
    rule: AnswerRule,
    policy: str = "strict",
    *,
    n_repeats: int = 1,
    fail: FailRule = never_fail,
) -> list[Row]:
    """Return the test questions with the voted answer and is_correct (None: not graded)."""
    rows = []
    for question in folder.list_questions():
        if question["split"] == "test":
            error = fail(question)
            voted = vote([None if error else rule(question, k) for k in range(n_repeats)])
            rows.append(question | judge(question, voted, error, policy))
    return rows


def name_tails(folder: QuestionFolder) -> dict[str, tuple[str, str, str]]:
    """Return the head and the two tails of every point, as the names of its clusters."""
    names = {}
    for point in folder.points:
        head = point.name.lower() if point.has_head else point.point_id
        tails = [
            tail.lower() if point.has_pair else f"{point.point_id} {tail}"
            for tail in (point.true, point.false)
        ]
        names[point.point_id] = (head, tails[0], tails[1])
    return names


def debias(rows: Iterable[Row], right: str = "is_correct") -> tuple[float, float] | None:
    """Return the debiased accuracy of a point's revision questions, and how many questions it is worth.

    None if only one kind of offer is graded.
    """
    graded = [row for row in rows if row["is_correct"] is not None]
    kinds = [[row for row in graded if row["answer"].startswith(judgement)] for judgement in "TF"]
    if not all(kinds):
        return None
    n = len(graded[0]["options"])
    weights = (1 / n, (n - 1) / n)
    accuracy = sum(w * mean(bool(row[right]) for row in kind) for w, kind in zip(weights, kinds, strict=True))
    return accuracy, 1 / sum(w * w / len(kind) for w, kind in zip(weights, kinds, strict=True))


def observe_points(
    folder: QuestionFolder, rows: list[Row], gained: str = "is_correct", lost: str | None = None
) -> tuple[list[Observation], float]:
    """Return one observation per point with a graded question of one facet, and their number at most."""
    names, observations, n_most = name_tails(folder), [], 0.0
    for point_id, own in group(rows, lambda row: row["point_id"]).items():
        head, *tails = names[str(point_id)]
        if own[0]["type"] == "RQ":
            halves = [[row for row in own if row["is_negated"] == is_negated] for is_negated in (False, True)]
            scores = [(debias(half, gained), debias(half, lost or gained)) for half in halves]
            g = sum(round(PARTS * one[0]) for one, _ in scores if one)
            x = sum(round(PARTS * other[0]) for _, other in scores if other) if lost else 0
            n = sum(PARTS for one, _ in scores if one)
            n_most += sum(one[1] for one, _ in scores if one)
        else:
            graded = [row for row in own if row["is_correct"] is not None]
            g = sum(bool(row[gained]) for row in graded)
            x = sum(bool(row[lost]) for row in graded) if lost else 0
            n = len(graded)
            n_most += n
        if n:
            observations.append(Observation(point_id, head, tuple(tails), g, x, n))
    return observations, n_most


def expected_accuracy(folder: QuestionFolder, rows: list[Row]) -> Row:
    """Return the accuracy of one facet's questions with its n, interval and rates."""
    observations, n_most = observe_points(folder, rows)
    answered = [row for row in rows if row["error"] is None]
    expected: Row = {
        "n_questions": sum(row["is_correct"] is not None for row in rows),
        "n_points": len(observations),
        "accuracy": None,
        "ci_low": None,
        "ci_high": None,
        "no_answer_rate": mean(row["n_answers"] == 0 for row in answered) if answered else None,
        "error_rate": mean(row["error"] is not None for row in rows),
    }
    if observations:
        low, high = share_interval(observations, measure_clustering(observations), n_most)
        expected |= {"accuracy": share(observations), "ci_low": low, "ci_high": high}
    return expected


def expected_average(folder: QuestionFolder, rows: list[Row]) -> Row:
    """Return the mean accuracy of the facets of these questions, with its interval (average_scores.sql)."""
    facets = [observe_points(folder, own) for own in group(rows, lambda row: row["type"]).values()]
    average = mean(share(observations) for observations, _ in facets)
    shares: dict[Hashable, list[tuple[Observation, float, int]]] = {}
    for observations, _ in facets:
        accuracy, total = share(observations), sum(o.n for o in observations)
        for o in observations:
            shares.setdefault(o.pair, []).append((o, accuracy, total))
    points = []
    for own in shares.values():
        gained = sum(round(WHOLE * o.gained / total) for o, _, total in own)
        gained += round(WHOLE * sum((average - accuracy) * o.n / total for o, accuracy, total in own))
        points.append(
            replace(own[0][0], gained=gained, n=sum(round(WHOLE * o.n / total) for o, _, total in own))
        )
    n_most = len(facets) ** 2 / sum(1 / n for _, n in facets)
    low, high = share_interval(points, measure_clustering(points), n_most)
    return {"average_accuracy": average, "n_points": len(points), "ci_low": low, "ci_high": high}


def expected_gap(folder: QuestionFolder, rows: list[Row], other_rows: list[Row]) -> Row:
    """Return the paired difference of two models' accuracies on one facet's questions, with its interval."""
    both = [
        row
        | {
            "is_correct": None if None in (row["is_correct"], other["is_correct"]) else True,
            "gained": bool(row["is_correct"]) and not other["is_correct"],
            "lost": bool(other["is_correct"]) and not row["is_correct"],
        }
        for row, other in zip(rows, other_rows, strict=True)
    ]
    observations, n_most = observe_points(folder, both, "gained", "lost")
    low, high = difference_interval(observations, measure_clustering(observations), n_most)
    return {
        "n_points": len(observations),
        "difference": share(observations),
        "difference_ci_low": low,
        "difference_ci_high": high,
    }
