"""The 95 % intervals of shares and differences whose pairs share heads and tails, computed by the jackknife.

The views compute the same variance from residuals (warehouse/estimate_shares.sql). Here, each
cluster is left out in turn: its squared effect on the share is its part of the variance.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import floor, sqrt

from scipy.stats import norm, t

Z = float(norm.ppf(0.975))


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
    clusters: dict[Hashable, list[Observation]] = {}
    for o in observations:
        for cluster in name(o):
            clusters.setdefault(cluster, []).append(o)
    change = 0.0
    for members in clusters.values():
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
    numbers: dict[str, list[float]] = {"all": [], "right": [], "wrong": []}
    for name in (lambda o: [o.head], lambda o: o.tails):
        sizes: dict[str, dict[str, int]] = {which: {} for which in numbers}
        for o in observations:
            right = o.gained + o.lost
            for which, count in (("all", o.n), ("right", right), ("wrong", o.n - right)):
                for cluster in name(o):
                    sizes[which][cluster] = sizes[which].get(cluster, 0) + count
        for which, counts in sizes.items():
            numbers[which].append(kish(counts.values()))
    return Clustering(
        inflation=variance / pair if pair > 1e-15 else 1.0,
        n_rare=min(min(found) for found in numbers.values()),
        n_effective=min(numbers["all"]),
    )


def effective_size(
    clusters: list[tuple[int, int]], clustering: Clustering | None = None, n_most: float | None = None
) -> float:
    """Return n / deff of a share with c of n right per pair; without clustering, the base is held fixed.

    Args:
        n_most: the number of independent observations at most; by default all of them.
    """
    inflation = clustering.inflation if clustering else 1.0
    m, n = len(clusters), sum(n for _, n in clusters)
    p = sum(c for c, _ in clusters) / n
    residuals = [c - p * size for c, size in clusters]
    if m < 2 or all(abs(r) < 1e-9 for r in residuals):
        return m
    from_tails = (1 - 1 / inflation) * 3 / max(clustering.n_rare, 9) if clustering else 0.0
    if n == m:
        return m / inflation * (student_factor(1 / max(from_tails, 1e-6)) if inflation > 1 else 1)
    informative = min(m - 1, sum(c > 0 for c, _ in clusters), sum(c < size for c, size in clusters))
    factor = student_factor(min(informative, 1 / (from_tails + 1 / inflation / informative)))
    robust = p * (1 - p) * n**2 * (m - 1) / m / sum(r * r for r in residuals) / inflation
    return min(n_most or n, max(min(clustering.n_rare if clustering else m, robust), robust * factor))


def student_factor(df: float) -> float:
    """Return (z/t)² with the degrees of freedom rounded down."""
    return (Z / float(t.ppf(0.975, max(1, floor(df + 1e-9))))) ** 2


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of a share p on n observations."""
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
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
    """Return the interval of the share of a single score."""
    clusters = [(g, n) for g, _, n in add_up_pairs(observations)]
    return wilson(
        sum(c for c, _ in clusters) / sum(n for _, n in clusters),
        effective_size(clusters, clustering, n_most),
    )


def difference_interval(
    observations: list[Observation], clustering: Clustering | None = None, n_most: float | None = None
) -> tuple[float, float]:
    """Return the interval of the difference of two scores (MOVER)."""
    pairs = add_up_pairs(observations)
    n = sum(size for _, _, size in pairs)
    gained, lost = [(g, size) for g, _, size in pairs], [(x, size) for _, x, size in pairs]
    p, q = (sum(c for c, _ in side) / n for side in (gained, lost))
    e, f = ([c - s * size for c, size in side] for s, side in ((p, gained), (q, lost)))
    squares = sqrt(sum(x * x for x in e)) * sqrt(sum(x * x for x in f))
    r = sum(x * y for x, y in zip(e, f, strict=True)) / squares if squares > 1e-9 else 0.0
    p_low, p_high = wilson(p, effective_size(gained, clustering, n_most))
    q_low, q_high = wilson(q, effective_size(lost, clustering, n_most))

    def reach(a: float, b: float) -> float:
        return sqrt(max(a * a - 2 * r * a * b + b * b, 0))

    return p - q - reach(p - p_low, q_high - q), p - q + reach(p_high - p, q - q_low)


def difference_error(observations: list[Observation], clustering: Clustering | None = None) -> float:
    """Return the standard error of the difference."""
    pairs, whole = add_up_pairs(observations), share(o for o in observations if o.n)
    m, n = len(pairs), sum(size for _, _, size in pairs)
    squares = sum((g - x - whole * size) ** 2 for g, x, size in pairs)
    return sqrt(m / (m - 1) * squares * (clustering.inflation if clustering else 1)) / n
