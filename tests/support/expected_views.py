"""The expected values of the views, computed from Parquet files with the formulas of docs/statistics.md.

The scores have the variance of their intervals from residuals (pretexeval/statistics). Here, each
cluster of pairs that share a head or a tail is left out in turn (the jackknife): its squared effect on the
share is its part of the variance.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from math import floor, sqrt
from pathlib import Path
from typing import TypeVar

import polars as pl
from scipy.stats import norm, t

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


def kish(sizes: Iterable[int]) -> float:
    """Return the effective number of clusters with these sizes; infinite if all are empty."""
    sizes = list(sizes)
    return sum(sizes) ** 2 / sum(s * s for s in sizes) if any(sizes) else float("inf")


def leave_out(observations: list[Observation], name: Callable[[Observation], Iterable[Hashable]]) -> float:
    """Return the sum over the clusters of the squared change of the share without the cluster."""
    whole, total = share(observations), sum(o.n for o in observations)
    members_of = group(((cluster, o) for o in observations for cluster in name(o)), lambda item: item[0])
    change = 0.0
    for members in ([o for _, o in items] for items in members_of.values()):
        size = sum(o.n for o in members)
        if size < 0.95 * total:
            inside = set(map(id, members))
            change += (share(o for o in observations if id(o) not in inside) - whole) ** 2
        else:
            net = sum(o.gained - o.lost for o in members)
            change += ((net - whole * size) / total / 0.05) ** 2
    return change


def leave_out_equal(residuals: list[float], total: int) -> float:
    """Return the same for clusters (pairs, triplets) that count as equally large."""
    return sum(r * r for r in residuals) / total**2 / (1 - min(1 / len(residuals), 0.95)) ** 2


@dataclass(frozen=True)
class Clustering:
    """How much the clusters inflate the variance of pairs, and from how many clusters this is known."""

    inflation: float
    n_rare: float
    n_effective: float


def measure_clustering(observations: list[Observation]) -> Clustering:
    """Return the two-way clustering of the observations; each pair has one or two of them."""
    observations = [o for o in observations if o.n]
    is_whole = len(observations[0].tails) == 2
    whole, total = share(observations), sum(o.n for o in observations)
    residuals: dict[Hashable, float] = {}
    for o in observations:
        residuals[o.pair] = residuals.get(o.pair, 0.0) + o.gained - o.lost - whole * o.n
    pair = leave_out_equal(list(residuals.values()), total)
    unit = leave_out_equal([o.gained - o.lost - whole * o.n for o in observations], total)
    head = leave_out(observations, lambda o: [o.head])
    tail = leave_out(observations, lambda o: o.tails)
    if is_whole:
        tail -= leave_out(observations, lambda o: [frozenset(o.tails)])
    variance = max(head + tail - unit, head, tail, pair)
    numbers: list[list[float]] = []
    for name in (lambda o: [o.head], lambda o: o.tails):
        every, right, wrong = Counter[str](), Counter[str](), Counter[str]()
        for o in observations:
            for cluster in name(o):
                every[cluster] += o.n
                right[cluster] += o.gained + o.lost
                wrong[cluster] += o.n - o.gained - o.lost
        numbers.append([kish(sizes.values()) for sizes in (every, right, wrong)])
    return Clustering(
        inflation=variance / pair if pair > 1e-15 else 1.0,
        n_rare=min(map(min, numbers)),
        n_effective=min(found[0] for found in numbers),
    )


def effective_size(
    clusters: list[tuple[int, int]],
    clustering: Clustering | None = None,
    n_most: float | None = None,
    *,
    n_informative: int | None = None,
    is_certain: bool = False,
    level: float = 0.05,
) -> float:
    """Return n / deff of a share with c of n right per pair; without clustering, the base is held fixed.

    Args:
        n_most: the number of independent observations at most; by default all of them.
        n_informative: the pairs that tell deff, if they are not those of this share alone.
        is_certain: take deff as known, without Student's correction.
    """
    inflation = clustering.inflation if clustering else 1.0
    m, n = len(clusters), sum(n for _, n in clusters)
    p = sum(c for c, _ in clusters) / n
    residuals = [c - p * size for c, size in clusters]
    if m < 2 or all(abs(r) < 1e-9 for r in residuals):
        return m
    from_tails = (1 - 1 / inflation) * 3 / max(clustering.n_rare, 9) if clustering else 0.0
    if n == m:
        factor = 1 if is_certain or inflation <= 1 else student_factor(1 / max(from_tails, 1e-6), level)
        return m / inflation * factor
    informative = n_informative or count_informative(clusters)
    factor = student_factor(min(informative, 1 / (from_tails + 1 / inflation / informative)), level)
    robust = p * (1 - p) * n**2 * (m - 1) / m / sum(r * r for r in residuals)
    return min(n_most or n, max(min(m, robust), robust * (1 if is_certain else factor)) / inflation)


def count_informative(clusters: list[tuple[int, int]]) -> int:
    return min(len(clusters) - 1, sum(c > 0 for c, _ in clusters), sum(c < size for c, size in clusters))


def student_factor(df: float, level: float) -> float:
    return float(norm.isf(level / 2) / t.isf(level / 2, max(1, floor(df + 1e-9)))) ** 2


def wilson(p: float, n: float, level: float = 0.05) -> tuple[float, float]:
    z = float(norm.isf(level / 2))
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return centre - half, centre + half


def add_up_pairs(observations: list[Observation]) -> list[tuple[int, int, int]]:
    """Return (gained, lost, n) of every pair with an observation."""
    pairs: dict[Hashable, tuple[int, int, int]] = {}
    for o in observations:
        if o.n:
            g, x, n = pairs.get(o.pair, (0, 0, 0))
            pairs[o.pair] = (g + o.gained, x + o.lost, n + o.n)
    return list(pairs.values())


def share_interval(
    observations: list[Observation], clustering: Clustering | None = None, n_most: float | None = None
) -> tuple[float, float]:
    clusters = [(g, n) for g, _, n in add_up_pairs(observations)]
    return wilson(
        sum(c for c, _ in clusters) / sum(n for _, n in clusters),
        effective_size(clusters, clustering, n_most),
    )


def difference_interval(
    observations: list[Observation],
    clustering: Clustering | None = None,
    n_most: float | None = None,
    level: float = 0.05,
) -> tuple[float, float]:
    """Return the interval of the difference of two scores (MOVER)."""
    pairs = add_up_pairs(observations)
    n = sum(size for _, _, size in pairs)
    gained, lost = [(g, size) for g, _, size in pairs], [(x, size) for _, x, size in pairs]
    p, q = (sum(c for c, _ in side) / n for side in (gained, lost))
    e, f = ([c - s * size for c, size in side] for s, side in ((p, gained), (q, lost)))
    squares = sqrt(sum(x * x for x in e)) * sqrt(sum(x * x for x in f))
    r = sum(x * y for x, y in zip(e, f, strict=True)) / squares if squares > 1e-9 else 0.0
    informative = min(len(pairs) - 1, count_informative(gained) + count_informative(lost))

    def count(own: list[tuple[int, int]], other: list[tuple[int, int]]) -> float:
        if any(c for c, _ in own) or not any(c for c, _ in other):
            return effective_size(own, clustering, n_most, n_informative=informative, level=level)
        known, estimated = (
            effective_size(
                other, clustering, n_most, n_informative=informative, is_certain=is_certain, level=level
            )
            for is_certain in (True, False)
        )
        return min(known, 2 * estimated)

    p_low, p_high = wilson(p, count(gained, lost), level)
    q_low, q_high = wilson(q, count(lost, gained), level)

    def reach(a: float, b: float) -> float:
        return sqrt(max(a * a - 2 * r * a * b + b * b, 0))

    return p - q - reach(p - p_low, q_high - q), p - q + reach(p_high - p, q - q_low)


def difference_error(observations: list[Observation], clustering: Clustering | None = None) -> float:
    pairs, whole = add_up_pairs(observations), share(o for o in observations if o.n)
    m, n = len(pairs), sum(size for _, _, size in pairs)
    squares = sum((g - x - whole * size) ** 2 for g, x, size in pairs)
    return sqrt(m / (m - 1) * squares * (clustering.inflation if clustering else 1)) / n


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
    low, high = difference_interval(observations, measure_clustering(observations), n_most)
    return {"difference": share(observations), "difference_ci_low": low, "difference_ci_high": high}


def expected_share(
    observations: list[Observation], score: str = "average_accuracy", n_most: float | None = None
) -> Row:
    """Return the share that is this score, and its limits; None if nothing is observed."""
    names = (score, f"{score}_ci_low", f"{score}_ci_high")
    if not observations:
        return dict.fromkeys(names)
    interval = share_interval(observations, measure_clustering(observations), n_most)
    return dict(zip(names, (share(observations), *interval), strict=True))


def expected_scores(rows: list[Row], k: int) -> Row:
    """Return every score of these samples, of which a complete triplet has k, with n and interval."""
    asked = [r for r in rows if r["error"] is None]
    given = [r for r in asked if r["has_answer"]]
    samples, triplets, pairs = observe_triplets(rows), observe_joint(rows, k), observe_pairs(rows, k)
    constant = [o for o in observe_triplets(rows) if o.n == k and o.gained in (0, k)]
    expected: Row = {
        "n_samples": sum(o.n for o in samples),
        "n_pairs": len({o.pair for o in samples}),
        "n_effective": measure_clustering(samples).n_effective if samples else None,
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
