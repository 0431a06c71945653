"""The expected values of the views, computed sample by sample with the formulas of docs/statistics.md."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from tests.support.data_folder import DataFolder, Rule
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


def judge_samples(data: DataFolder, method: str, rule: Rule, policy: str) -> list[Row]:
    """Return the test samples with the answer and is_correct (None: not graded)."""
    rows = []
    for sample in data.samples(method):
        if sample["split"] == "test":
            answer = rule(sample)
            is_graded = answer is not None or policy == "strict"
            is_correct = answer == sample["label"] if is_graded else None
            rows.append(sample | {"answer": answer, "is_correct": is_correct})
    return rows


def group(rows: Iterable[Item], key: Callable[[Item], Hashable]) -> dict[Hashable, list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def observe_triplets(rows: list[Row]) -> list[Observation]:
    """Return, per triplet, how many of its graded samples are right."""
    graded = group((r for r in rows if r["is_correct"] is not None), lambda r: r["triplet_id"])
    return [observe(samples, sum(r["is_correct"] for r in samples), 0) for samples in graded.values()]


def observe(samples: list[Row], gained: int, lost: int) -> Observation:
    """Return the observation of a triplet of which these samples are graded."""
    head, tail = samples[0]["head"].lower(), samples[0]["tail"].lower()
    return Observation(samples[0]["pair_id"], head, (tail,), gained, lost, len(samples))


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


def expected_interval(observations: list[Observation]) -> tuple[float, float] | tuple[None, None]:
    """Return the limits of a share; None if nothing is observed."""
    if not any(o.n for o in observations):
        return None, None
    return share_interval(observations, measure_clustering(observations))


def expected_average(rows: list[Row]) -> Row:
    """Return the average accuracy with its n, interval and no-answer rate."""
    observations = observe_triplets(rows)
    low, high = expected_interval(observations)
    return {
        "n_samples": sum(o.n for o in observations),
        "n_pairs": len({o.pair for o in observations}),
        "average_accuracy": share(observations) if observations else None,
        "ci_low": low,
        "ci_high": high,
        "no_answer_rate": sum(r["answer"] is None for r in rows) / len(rows),
    }


def complete_triplets(rows: list[Row], k: int) -> dict[Hashable, dict[Hashable, list[bool]]]:
    """Return, by pair and triplet, which samples are right, for the triplets with all k samples graded."""
    pairs: dict[Hashable, dict[Hashable, list[bool]]] = {}
    for triplet, samples in group(rows, lambda r: r["triplet_id"]).items():
        right = [r["is_correct"] for r in samples if r["is_correct"] is not None]
        if len(right) == k:
            pairs.setdefault(samples[0]["pair_id"], {})[triplet] = right
    return pairs


MOST_LEFT_OUT = 0.2
"""Under `excluded`, a joint accuracy of which more is left out is not shown."""


def is_withheld(n_left: int, rows: list[Row], column: str) -> bool:
    """Return whether too few of the triplets or pairs are complete, because samples are not graded."""
    is_excluded = any(r["is_correct"] is None for r in rows)
    return is_excluded and 1 - n_left / len({r[column] for r in rows}) > MOST_LEFT_OUT


def expected_joint(rows: list[Row], k: int) -> Row:
    """Return the joint accuracy by triplet, with its n and interval."""
    complete = [o for o in observe_triplets(rows) if o.n == k]
    observations = [replace(o, gained=int(o.gained == k), n=1) for o in complete]
    n = len(observations)
    is_shown = n > 0 and not is_withheld(n, rows, "triplet_id")
    low, high = expected_interval(observations) if is_shown else (None, None)
    return {
        "n_triplets": n,
        "joint_accuracy": share(observations) if is_shown else None,
        "joint_ci_low": low,
        "joint_ci_high": high,
    }


def observe_pairs(rows: list[Row], k: int) -> list[Observation]:
    """Return, per complete pair, whether it is mastered."""
    pairs = group((o for o in observe_triplets(rows) if o.n == k), lambda o: o.pair)
    return [
        Observation(
            pair, both[0].head, both[0].tails + both[1].tails, int(all(o.gained == k for o in both)), 0, 1
        )
        for pair, both in pairs.items()
        if len(both) == 2
    ]


def expected_mastery(rows: list[Row], k: int) -> Row:
    """Return the mastery, with its n and interval."""
    observations = observe_pairs(rows, k)
    n = len(observations)
    is_shown = n > 0 and not is_withheld(n, rows, "pair_id")
    low, high = expected_interval(observations) if is_shown else (None, None)
    return {
        "n_complete_pairs": n,
        "mastery": share(observations) if is_shown else None,
        "mastery_ci_low": low,
        "mastery_ci_high": high,
    }


def expected_curve(rows: list[Row], k: int) -> list[float]:
    """Return for n = 1..k the share that is all right, over all triplets and all choices of n samples."""
    triplets = [t for pair in complete_triplets(rows, k).values() for t in pair.values()]
    curve = []
    for n in range(1, k + 1):
        choices = [all(chosen) for t in triplets for chosen in combinations(t, n)]
        curve.append(sum(choices) / len(choices))
    return curve
