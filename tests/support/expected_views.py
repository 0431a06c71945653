"""The expected values of the views, counted sample by sample in the Parquet files of an edition."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from pretexeval.statistics.clusters import Floats, Observations, measure_spread
from pretexeval.statistics.intervals import LEVEL, Estimates
from tests.support.stage_rows import Row

Item = TypeVar("Item")
MOST_LEFT_OUT = 0.2
"""Under `excluded`, a joint accuracy of which more is left out is not shown."""


@dataclass(frozen=True)
class Observation:
    """What is observed of a triplet, which has one tail, or of a pair as a whole, which has two.

    Of the n observations, `gained` are right in the first score only and `lost` in the second only. For the
    share of a single score, `gained` are right and `lost` is 0.
    """

    pair: Hashable
    head: str
    tails: tuple[str, ...]
    gained: int
    lost: int
    n: int


def share(observations: Iterable[Observation]) -> float:
    """Return the difference of gained and lost over all observations."""
    observations = list(observations)
    return sum(o.gained - o.lost for o in observations) / sum(o.n for o in observations)


def measure(
    observations: Iterable[Observation], n_most: float | None = None, *, is_difference: bool = False
) -> Estimates:
    """Return the estimates of one score; its intervals are tested in tests/pretexeval/statistics.

    Args:
        n_most: the number of independent observations at most; by default all of them.
    """
    units = list(group((o for o in observations if o.n), lambda o: o.pair).values())
    n_columns = 3 - len(units[0][0].tails)
    heads, tails = dict[str, int](), dict[str, int]()

    def count(name: str) -> Floats:
        rows = [[getattr(o, name) for o in unit] for unit in units]
        return np.array([row + [0] * (n_columns - len(row)) for row in rows], float)

    # A unit with one triplet has no observation of the other tail.
    both = [(unit[0].tails[0], unit[-1].tails[-1]) for unit in units]
    spread = measure_spread(
        Observations(
            count("gained"),
            count("n"),
            np.array([heads.setdefault(unit[0].head, len(heads)) for unit in units]),
            np.array([[tails.setdefault(tail, len(tails)) for tail in pair] for pair in both]),
            count("lost") if is_difference else None,
            None if n_most is None else np.full(len(units), n_most / len(units)),
        )
    )
    assert spread is not None
    return Estimates([spread])


def limit_difference(
    observations: Iterable[Observation],
    n_most: float | None = None,
    *,
    level: float = LEVEL,
    is_base_fixed: bool = False,
) -> tuple[float, float]:
    estimates = measure(observations, n_most, is_difference=True)
    limits = estimates.limit(level=level, is_base_fixed=is_base_fixed)
    return float(limits.low[0]), float(limits.high[0])


def find_difference_error(observations: Iterable[Observation]) -> float:
    estimates = measure(observations, is_difference=True)
    return float(estimates["standard_error"][0] * sqrt(estimates["inflation"][0]))


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
    """Return, per triplet of the first side, what is gained and lost on the samples graded on both sides."""
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


def expected_difference(observations: list[Observation], n_most: float | None = None) -> Row:
    low, high = limit_difference(observations, n_most)
    return {"difference": share(observations), "difference_ci_low": low, "difference_ci_high": high}


def expected_share(
    observations: list[Observation], score: str = "average_accuracy", n_most: float | None = None
) -> Row:
    """Return the share that is this score, and its limits; None if nothing is observed."""
    names = (score, f"{score}_ci_low", f"{score}_ci_high")
    if not observations:
        return dict.fromkeys(names)
    limits = measure(observations, n_most).limit()
    return dict(zip(names, (share(observations), limits.low[0], limits.high[0]), strict=True))


def expected_scores(rows: list[Row], k: int) -> Row:
    """Return every score of these samples, of which a complete triplet has k, with n and interval."""
    asked = [r for r in rows if r["error"] is None]
    given = [r for r in asked if r["has_answer"]]
    samples, triplets, pairs = observe_triplets(rows), observe_joint(rows, k), observe_pairs(rows, k)
    constant = [o for o in observe_triplets(rows) if o.n == k and o.gained in (0, k)]
    expected: Row = {
        "n_samples": sum(o.n for o in samples),
        "n_pairs": len({o.pair for o in samples}),
        "n_effective": measure(samples)["n_effective"][0] if samples else None,
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
        expected |= expected_share(shown, name)
    is_shown = expected["joint_accuracy"] is not None
    return expected | {"consistency": len(constant) / len(triplets) if is_shown else None}
