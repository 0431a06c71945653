"""The expected accuracy of facets and shares of mastered points, computed from the Parquet files."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from statistics import mean

import polars as pl

from tests.support.expected_clusters import (
    Observation,
    difference_interval,
    measure_clustering,
    share,
    share_interval,
)
from tests.support.expected_views import expected_share, group
from tests.support.stage_rows import Row

PARTS = 2520
"""A revision question's accuracy is a number of these parts."""


def read_question_predictions(root: Path, edition_id: str) -> list[Row]:
    """Return the predictions of the test questions, with their questions, setting, and names of clusters."""
    edition = root / "editions" / edition_id
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet").sort("is_positive", descending=True)
    tails = {
        str(pair): [row["tail"].lower() for row in rows]
        for pair, rows in group(triplets.to_dicts(), lambda row: row["pair_id"]).items()
    }
    questions = pl.read_parquet(edition / "questions" / "*.parquet").drop("relation")
    rows = []
    for path in sorted((root / "question_predictions" / edition_id).glob("*/*/predictions/*.parquet")):
        predictions = (
            pl.read_parquet(path)
            .rename({"item_id": "question_id"})
            .join(questions, on="question_id", maintain_order="left")
        )
        for row in predictions.iter_rows(named=True):
            name = (row["head"] or row["point_id"]).lower()
            own = tails.get(row["pair_id"]) or [f"{row['point_id']} {k}" for k in range(2)]
            rows.append(row | {"setting": path.parts[-4], "cluster": name, "tails": tuple(own)})
    return rows


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
    rows: list[Row], gained: str = "is_correct", lost: str | None = None
) -> tuple[list[Observation], float]:
    """Return one observation per point with a graded question of one facet, and their number at most."""
    observations, n_most = [], 0.0
    for point_id, own in group(rows, lambda row: row["point_id"]).items():
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
            observations.append(Observation(point_id, own[0]["cluster"], own[0]["tails"], g, x, n))
    return observations, n_most


def expected_accuracy(rows: list[Row]) -> Row:
    """Return the accuracy of one facet's questions with its n, interval and rates."""
    observations, n_most = observe_points(rows)
    answered = [row for row in rows if row["error"] is None]
    expected: Row = {
        "n_questions": sum(row["is_correct"] is not None for row in rows),
        "n_points": len(observations),
        "accuracy": None,
        "accuracy_ci_low": None,
        "accuracy_ci_high": None,
        "no_answer_rate": mean(row["n_answers"] == 0 for row in answered) if answered else None,
        "error_rate": mean(row["error"] is not None for row in rows),
    }
    if observations:
        low, high = share_interval(observations, measure_clustering(observations), n_most)
        expected |= {"accuracy": share(observations), "accuracy_ci_low": low, "accuracy_ci_high": high}
    return expected


def expected_gap(observations: list[Observation], n_most: float | None = None) -> Row:
    """Return a paired difference with its interval; None if nothing is graded for both."""
    if not observations:
        return {"n_points": 0, "difference": None}
    low, high = difference_interval(observations, measure_clustering(observations), n_most)
    limits = {"difference_ci_low": low, "difference_ci_high": high}
    return {"n_points": len(observations), "difference": share(observations)} | limits


def expected_facet_gap(rows: list[Row], other_rows: list[Row]) -> Row:
    """Return the paired difference of two models' accuracies on one facet's questions."""
    both = [
        row
        | {
            "is_correct": None if None in (row["is_correct"], other["is_correct"]) else True,
            "gained": bool(row["is_correct"]) and not other["is_correct"],
            "lost": bool(other["is_correct"]) and not row["is_correct"],
        }
        for row, other in zip(rows, other_rows, strict=True)
    ]
    return expected_gap(*observe_points(both, "gained", "lost"))


def name_form(row: Row) -> tuple[object, ...]:
    is_wrong_offer = row["type"] == "RQ" and row["answer"].startswith("F")
    return row["type"], row["is_negated"], is_wrong_offer


def observe_mastery(
    rows: list[Row], facets: Collection[str], is_negated_included: bool
) -> tuple[dict[str, Observation], int, int]:
    """Return, per graded point, whether it is mastered; the number of whole points, and of all points.

    A point is whole if it has every form of question that other points have.
    """
    asked = [row for row in rows if row["facet"] in facets and (is_negated_included or not row["is_negated"])]
    points = group(asked, lambda row: row["point_id"])
    counts = {point: Counter(map(name_form, own)) for point, own in points.items()}
    most = Counter[tuple[object, ...]]()
    for count in counts.values():
        most |= count
    whole = {str(point): own for point, own in points.items() if counts[point] == most}
    observations = {
        point: Observation(
            point, own[0]["cluster"], own[0]["tails"], int(all(row["is_correct"] for row in own)), 0, 1
        )
        for point, own in whole.items()
        if all(row["is_correct"] is not None for row in own)
    }
    return observations, len(whole), len({row["point_id"] for row in rows})


def expected_mastered(rows: list[Row], facets: Collection[str], is_negated_included: bool) -> Row:
    """Return p(M) under the facets with its counts and interval, as under the policy strict."""
    found, n_whole, n_points = observe_mastery(rows, facets, is_negated_included)
    observations = list(found.values())
    expected: Row = {
        "n_points": len(observations),
        "n_incomplete_points": n_points - n_whole,
        "left_out_rate": 1 - len(observations) / n_whole,
    }
    if observations:
        rates = {"n_mastered": sum(o.gained for o in observations), "mastered_rate": share(observations)}
        expected |= rates | expected_share(observations, "mastered_rate")
    return expected
