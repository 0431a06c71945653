"""The expected shares of mastered points, computed point by point with the formulas of docs/statistics.md."""

from collections import Counter
from collections.abc import Collection

from tests.support.expected_clusters import (
    Observation,
    difference_interval,
    measure_clustering,
    share,
    share_interval,
)
from tests.support.expected_facets import name_tails
from tests.support.question_folder import QuestionFolder
from tests.support.stage_rows import Row


def select_points(
    rows: list[Row], facets: Collection[str], is_negated_included: bool
) -> dict[str, list[Row] | None]:
    """Return, per point, its questions of the facets; None if the point lacks one that other points have."""
    asked = [row for row in rows if row["facet"] in facets and (is_negated_included or not row["is_negated"])]
    points: dict[str, list[Row]] = {row["point_id"]: [] for row in rows}
    for row in asked:
        points[row["point_id"]].append(row)
    counts = {point: Counter(map(name_form, own)) for point, own in points.items()}
    most = Counter[tuple[object, ...]]()
    for count in counts.values():
        most |= count
    return {point: own if counts[point] == most else None for point, own in points.items()}


def name_form(row: Row) -> tuple[object, ...]:
    is_wrong_offer = row["type"] == "RQ" and row["answer"].startswith("F")
    return row["type"], row["is_negated"], is_wrong_offer


def is_graded(rows: list[Row]) -> bool:
    return all(row["is_correct"] is not None for row in rows)


def is_mastered(rows: list[Row]) -> bool:
    return all(row["is_correct"] for row in rows)


def expected_mastered(
    folder: QuestionFolder, rows: list[Row], facets: Collection[str], is_negated_included: bool
) -> Row:
    """Return p(M) under the facets with its counts and interval, as under the policy strict."""
    points, names = select_points(rows, facets, is_negated_included), name_tails(folder)
    graded = {point: own for point, own in points.items() if own is not None and is_graded(own)}
    n_whole = sum(own is not None for own in points.values())
    observations = [
        Observation(point, names[point][0], names[point][1:], int(is_mastered(own)), 0, 1)
        for point, own in graded.items()
    ]
    expected: Row = {
        "n_points": len(graded),
        "n_incomplete_points": len(points) - n_whole,
        "left_out_rate": 1 - len(graded) / n_whole,
    }
    if observations:
        low, high = share_interval(observations, measure_clustering(observations))
        n_mastered = sum(o.gained for o in observations)
        expected |= {"n_mastered": n_mastered, "mastered_rate": share(observations)}
        expected |= {"ci_low": low, "ci_high": high}
    return expected


def expected_mastered_gap(
    folder: QuestionFolder,
    rows: list[Row],
    other_rows: list[Row],
    facets: Collection[str],
    is_negated_included: bool,
) -> Row:
    """Return the paired difference of p(M), on the points that are graded for both."""
    names = name_tails(folder)
    one = select_points(rows, facets, is_negated_included)
    other = select_points(other_rows, facets, is_negated_included)
    observations = []
    for point, own in one.items():
        theirs = other[point]
        if own and theirs and is_graded(own) and is_graded(theirs):
            gained = is_mastered(own) and not is_mastered(theirs)
            lost = is_mastered(theirs) and not is_mastered(own)
            head, *tails = names[point]
            observations.append(Observation(point, head, tuple(tails), int(gained), int(lost), 1))
    low, high = difference_interval(observations, measure_clustering(observations))
    return {
        "n_points": len(observations),
        "difference": share(observations),
        "difference_ci_low": low,
        "difference_ci_high": high,
        "n_mastered_alone": sum(o.gained for o in observations),
        "n_other_mastered_alone": sum(o.lost for o in observations),
    }
