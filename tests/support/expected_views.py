"""The expected values of the views, computed from Parquet files with the formulas of docs/statistics.md."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import polars as pl

from tests.support.expected_clusters import (
    Observation,
    difference_error,
    difference_interval,
    measure_clustering,
    share,
    share_interval,
)
from tests.support.stage_rows import Row

Item = TypeVar("Item")
MOST_LEFT_OUT = 0.2
"""Under `excluded`, a joint accuracy of which more is left out is not shown."""


def read_predictions(root: Path, edition_id: str) -> list[Row]:
    """Return the predictions of the test samples, with the columns of their samples and triplets.

    has_answer, is_asserted and first_release are those of the answer and of the pair.
    """
    edition = root / "editions" / edition_id
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet").select(
        "triplet_id",
        "head",
        "tail",
        "is_positive",
        pl.col("is_asserted").any().over("pair_id").fill_null(False),
        pl.col("first_release").max().over("pair_id"),
    )
    samples = pl.read_parquet(edition / "samples" / "*.parquet").filter(split="test")
    columns = ("sample_id", "method", "triplet_id", "pair_id", "transformation", "sample_index", "label")
    files = sorted((root / "predictions" / edition_id).glob("*/predictions/*.parquet"))
    predictions = pl.concat([pl.read_parquet(path) for path in files])
    predictions = predictions.rename({"item_id": "sample_id"}).with_columns(pl.col("prediction") == "T")
    is_unanswered = pl.col("prediction").is_null() & pl.col("error").is_null()
    rows = predictions.join(samples.select(columns), on="sample_id").join(triplets, on="triplet_id")
    return (
        rows.with_columns(
            has_answer=~is_unanswered.any().over("model_id", "repeat", "sample_id"),
            is_negated=pl.col("label") != pl.col("is_positive"),
        )
        .sort("model_id", "scoring_policy", "repeat", "method", "triplet_id", "sample_index")
        .to_dicts()
    )


def select(rows: Iterable[Row], **values: object) -> list[Row]:
    """Return the rows with these values in these columns."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def pick(row: Row, expected: Row) -> Row:
    return {name: row[name] for name in expected}


def group(rows: Iterable[Item], key: Callable[[Item], Hashable]) -> dict[Hashable, list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def observe(samples: list[Row], gained: int, lost: int) -> Observation:
    """Return the observation of a triplet of which these samples are graded."""
    head, tail = samples[0]["head"].lower(), samples[0]["tail"].lower()
    return Observation(samples[0]["pair_id"], head, (tail,), gained, lost, len(samples))


def observe_triplets(rows: list[Row]) -> list[Observation]:
    """Return, per triplet, how many of its graded samples are right."""
    graded = group((r for r in rows if r["is_correct"] is not None), lambda r: r["triplet_id"])
    return [observe(samples, sum(r["is_correct"] for r in samples), 0) for samples in graded.values()]


def observe_joint(rows: list[Row], k: int) -> list[Observation]:
    """Return, per triplet with k graded samples, whether all are right."""
    complete = [o for o in observe_triplets(rows) if o.n == k]
    return [replace(o, gained=int(o.gained == k), n=1) for o in complete]


def observe_pairs(rows: list[Row], k: int) -> list[Observation]:
    """Return, per complete pair, whether it is mastered."""
    pairs = group(observe_joint(rows, k), lambda o: o.pair)
    return [
        replace(both[0], tails=both[0].tails + both[1].tails, gained=min(o.gained for o in both))
        for both in pairs.values()
        if len(both) == 2
    ]


def pair_up(one: list[Row], other: list[Row]) -> list[Observation]:
    """Return, per triplet, what is gained and lost on the samples graded on both sides, in the same order.

    The clusters are those of the first side.
    """
    both = [
        (a, a["is_correct"], b["is_correct"])
        for a, b in zip(one, other, strict=True)
        if a["is_correct"] is not None and b["is_correct"] is not None
    ]
    return [
        observe([a for a, _, _ in rows], sum(x > y for _, x, y in rows), sum(x < y for _, x, y in rows))
        for rows in group(both, lambda row: row[0]["triplet_id"]).values()
    ]


def match(one: list[Observation], other: list[Observation]) -> list[Observation]:
    """Return what is gained and lost between two lists of the same triplets or pairs, in the same order."""
    return [
        replace(a, gained=int(a.gained > b.gained), lost=int(a.gained < b.gained))
        for a, b in zip(one, other, strict=True)
    ]


def expected_difference(observations: list[Observation]) -> Row:
    """Return the difference, its standard error and its limits."""
    clustering = measure_clustering(observations)
    low, high = difference_interval(observations, clustering)
    return {
        "difference": share(observations),
        "difference_se": difference_error(observations, clustering),
        "difference_ci_low": low,
        "difference_ci_high": high,
    }


def expected_share(observations: list[Observation], score: str = "average_accuracy") -> Row:
    """Return the limits of a share, named after its score; None if nothing is observed."""
    low, high = (
        share_interval(observations, measure_clustering(observations)) if observations else (None,) * 2
    )
    return {f"{score}_ci_low": low, f"{score}_ci_high": high}


def expected_scores(rows: list[Row], k: int) -> Row:
    """Return every score of the samples of one model, method, policy and repeat, with n and interval.

    Args:
        k: samples of a complete triplet.
    """
    asked = [r for r in rows if r["error"] is None]
    given = [r for r in asked if r["has_answer"]]
    samples, triplets, pairs = observe_triplets(rows), observe_joint(rows, k), observe_pairs(rows, k)
    constant = [o for o in observe_triplets(rows) if o.n == k and o.gained in (0, k)]
    expected: Row = {
        "n_samples": sum(o.n for o in samples),
        "n_pairs": len({o.pair for o in samples}),
        "average_accuracy": share(samples) if samples else None,
        "no_answer_rate": 1 - len(given) / len(asked) if asked else None,
        "true_rate": sum(r["prediction"] for r in given) / len(given) if given else None,
        "n_errors": len(rows) - len(asked),
        "error_rate": 1 - len(asked) / len(rows),
        "n_triplets": len(triplets),
        "n_complete_pairs": len(pairs),
    } | expected_share(samples)
    for name, observations, column in (
        ("joint_accuracy", triplets, "triplet_id"),
        ("mastery", pairs, "pair_id"),
    ):
        left_out_rate = 1 - len(observations) / len({r[column] for r in rows})
        is_withheld = rows[0]["scoring_policy"] == "excluded" and left_out_rate > MOST_LEFT_OUT
        shown = [] if is_withheld else observations
        expected |= {name: share(shown) if shown else None} | expected_share(shown, name)
    is_shown = expected["joint_accuracy"] is not None
    return expected | {"consistency": len(constant) / len(triplets) if is_shown else None}


def expected_curve(rows: list[Row], k: int) -> list[float]:
    """Return for n = 1..k the share that is all right, over all triplets and all choices of n samples."""
    graded = group((r for r in rows if r["is_correct"] is not None), lambda r: r["triplet_id"]).values()
    complete = [[r["is_correct"] for r in samples] for samples in graded if len(samples) == k]
    curve = []
    for n in range(1, k + 1):
        choices = [all(chosen) for right in complete for chosen in combinations(right, n)]
        curve.append(sum(choices) / len(choices))
    return curve
