"""What the views should say, worked out from the samples one by one, as the method words it."""

from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from math import sqrt

from scipy.stats import binomtest, norm

from tests.warehouse.rows import Row
from tests.warehouse.world import Rule, World

Z = float(norm.ppf(0.975))


def expected_interval(clusters: list[tuple[int, int]]) -> tuple[float, float]:
    """Method, section 4, as it is written there: Wilson on n / deff."""
    m, n = len(clusters), sum(n for _, n in clusters)
    p = sum(c for c, _ in clusters) / n
    residuals = [c - p * size for c, size in clusters]
    if m < 2 or all(abs(r) < 1e-9 for r in residuals):
        deff = n / m
    else:
        variance = m / (m - 1) * sum(r * r for r in residuals) / n**2
        deff = max(1.0, variance / (p * (1 - p) / n))
    k = n / deff
    centre = (p + Z**2 / (2 * k)) / (1 + Z**2 / k)
    half = Z * sqrt(p * (1 - p) / k + Z**2 / (4 * k**2)) / (1 + Z**2 / k)
    return centre - half, centre + half


def judge_samples(world: World, method: str, rule: Rule, policy: str) -> list[Row]:
    """The test samples with the answer and is_correct (null: not graded)."""
    rows = []
    for sample in world.samples(method):
        if sample["split"] == "test":
            answer = rule(sample)
            is_graded = answer is not None or policy == "strict"
            is_correct = answer == sample["label"] if is_graded else None
            rows.append(sample | {"answer": answer, "is_correct": is_correct})
    return rows


def group(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Hashable, list[Row]]:
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def expected_average(rows: list[Row]) -> Row:
    """Average accuracy with its n, interval and no-answer rate."""
    graded = group((r for r in rows if r["is_correct"] is not None), lambda r: r["pair_id"])
    clusters = [(sum(r["is_correct"] for r in pair), len(pair)) for pair in graded.values()]
    n = sum(size for _, size in clusters)
    low, high = expected_interval(clusters) if n else (None, None)
    return {
        "n_samples": n,
        "n_pairs": len(clusters),
        "average_accuracy": sum(c for c, _ in clusters) / n if n else None,
        "ci_low": low,
        "ci_high": high,
        "no_answer_rate": sum(r["answer"] is None for r in rows) / len(rows),
    }


def complete_triplets(rows: list[Row], k: int) -> dict[Hashable, dict[Hashable, list[bool]]]:
    """By pair, by triplet: which of its samples are right; triplets with all k graded."""
    pairs: dict[Hashable, dict[Hashable, list[bool]]] = {}
    for triplet, samples in group(rows, lambda r: r["triplet_id"]).items():
        right = [r["is_correct"] for r in samples if r["is_correct"] is not None]
        if len(right) == k:
            pairs.setdefault(samples[0]["pair_id"], {})[triplet] = right
    return pairs


def expected_joint(rows: list[Row], k: int) -> Row:
    """Joint accuracy by triplet, with its n and interval."""
    pairs = complete_triplets(rows, k)
    clusters = [(sum(all(t) for t in pair.values()), len(pair)) for pair in pairs.values()]
    n = sum(size for _, size in clusters)
    low, high = expected_interval(clusters) if n else (None, None)
    return {
        "n_triplets": n,
        "joint_accuracy": sum(c for c, _ in clusters) / n if n else None,
        "joint_ci_low": low,
        "joint_ci_high": high,
    }


def expected_mastery(rows: list[Row], k: int) -> Row:
    """Mastery, with its n and interval."""
    pairs = [pair for pair in complete_triplets(rows, k).values() if len(pair) == 2]
    n, mastered = len(pairs), sum(all(all(t) for t in pair.values()) for pair in pairs)
    interval = binomtest(mastered, n).proportion_ci(method="wilson") if n else None
    return {
        "n_complete_pairs": n,
        "mastery": mastered / n if n else None,
        "mastery_ci_low": interval.low if interval else None,
        "mastery_ci_high": interval.high if interval else None,
    }


def expected_curve(rows: list[Row], k: int) -> list[float]:
    """For n = 1..k: the share all right, over all triplets and all choices of n samples."""
    triplets = [t for pair in complete_triplets(rows, k).values() for t in pair.values()]
    curve = []
    for n in range(1, k + 1):
        choices = [all(chosen) for t in triplets for chosen in combinations(t, n)]
        curve.append(sum(choices) / len(choices))
    return curve
