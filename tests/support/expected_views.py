"""The expected values of the views, computed sample by sample with the formulas of docs/statistics.md."""

from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from math import sqrt
from typing import TypeVar

from scipy.stats import binomtest, norm, t

from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row

Item = TypeVar("Item")
Z = float(norm.ppf(0.975))


def effective_size(clusters: list[tuple[int, int]]) -> float:
    """Return n / deff, corrected for the number of informative clusters; it lies between m and n."""
    m, n = len(clusters), sum(n for _, n in clusters)
    p = sum(c for c, _ in clusters) / n
    residuals = [c - p * size for c, size in clusters]
    if m < 2 or all(abs(r) < 1e-9 for r in residuals):
        return m
    variance = m / (m - 1) * sum(r * r for r in residuals) / n**2
    robust = p * (1 - p) / variance
    df = min(m - 1, sum(c > 0 for c, _ in clusters), sum(c < size for c, size in clusters))
    return min(n, max(min(m, robust), robust * (Z / float(t.ppf(0.975, df))) ** 2))


def expected_interval(clusters: list[tuple[int, int]]) -> tuple[float, float]:
    """Return Wilson's interval on n / deff (method, section 4)."""
    p = sum(c for c, _ in clusters) / sum(n for _, n in clusters)
    return wilson(p, effective_size(clusters))


def wilson(p: float, k: float) -> tuple[float, float]:
    centre = (p + Z**2 / (2 * k)) / (1 + Z**2 / k)
    half = Z * sqrt(p * (1 - p) / k + Z**2 / (4 * k**2)) / (1 + Z**2 / k)
    return centre - half, centre + half


def expected_difference(clusters: list[tuple[int, int, int]]) -> Row:
    """Return the difference, standard error and MOVER limits from (gained, lost, n) per pair."""
    m, n = len(clusters), sum(n for _, _, n in clusters)
    gained, lost = [(g, size) for g, _, size in clusters], [(x, size) for _, x, size in clusters]
    p, q = (sum(c for c, _ in side) / n for side in (gained, lost))
    e, f = ([c - s * size for c, size in side] for s, side in ((p, gained), (q, lost)))
    squares = sqrt(sum(x * x for x in e)) * sqrt(sum(x * x for x in f))
    r = sum(x * y for x, y in zip(e, f, strict=True)) / squares if squares > 1e-9 else 0.0
    (p_low, p_high), (q_low, q_high) = expected_interval(gained), expected_interval(lost)

    def reach(a: float, b: float) -> float:
        return sqrt(max(a * a - 2 * r * a * b + b * b, 0))

    return {
        "difference": p - q,
        "difference_se": sqrt(m / (m - 1) * sum((x - y) ** 2 for x, y in zip(e, f, strict=True))) / n,
        "difference_ci_low": p - q - reach(p - p_low, q_high - q),
        "difference_ci_high": p - q + reach(p_high - p, q - q_low),
    }


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


def pair_up(one: list[Row], other: list[Row]) -> list[tuple[int, int, int]]:
    """Return (gained, lost, n) per pair over the samples graded on both sides; both lists have one order."""
    graded = [
        (a["pair_id"], a["is_correct"], b["is_correct"])
        for a, b in zip(one, other, strict=True)
        if a["is_correct"] is not None and b["is_correct"] is not None
    ]
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for pair_id, a, b in graded:
        pairs.setdefault(pair_id, []).append((a, b))
    return [(sum(a > b for a, b in rows), sum(a < b for a, b in rows), len(rows)) for rows in pairs.values()]


def expected_average(rows: list[Row]) -> Row:
    """Return the average accuracy with its n, interval and no-answer rate."""
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
    """Return, by pair and triplet, which samples are right, for the triplets with all k samples graded."""
    pairs: dict[Hashable, dict[Hashable, list[bool]]] = {}
    for triplet, samples in group(rows, lambda r: r["triplet_id"]).items():
        right = [r["is_correct"] for r in samples if r["is_correct"] is not None]
        if len(right) == k:
            pairs.setdefault(samples[0]["pair_id"], {})[triplet] = right
    return pairs


def expected_joint(rows: list[Row], k: int) -> Row:
    """Return the joint accuracy by triplet, with its n and interval."""
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
    """Return the mastery, with its n and interval."""
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
    """Return for n = 1..k the share that is all right, over all triplets and all choices of n samples."""
    triplets = [t for pair in complete_triplets(rows, k).values() for t in pair.values()]
    curve = []
    for n in range(1, k + 1):
        choices = [all(chosen) for t in triplets for chosen in combinations(t, n)]
        curve.append(sum(choices) / len(choices))
    return curve
