"""Variation of the observations of one score, and their correlation within heads, tails and pairs.

The unit of observation is a pair: a true triplet and its false twin. They have one head and two tails. The
observations of a unit are those of its two triplets, or one of the pair as a whole (mastery). A score is the
share of the observations that are right; a paired difference is the share that only the first of two scores
got right (gained) less the share that only the second one did (lost).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

MAX_SIZE_SHARE = 0.95
"""Limit of the share of the observations that a cluster counts with in `correct_residual`."""
NEGLIGIBLE = 1e-9
"""Residuals below this share of the largest unit are rounding errors."""


@dataclass(frozen=True)
class Observations:
    """The observations of one score. Rows are units; columns are their triplets, or the pair as a whole."""

    gained: Floats
    """Right observations; of a difference, those that only the first score got right.

    Shape (m, 2), or (m, 1) for pairs as a whole.
    """
    n: Floats
    """Observations, of the same shape."""
    heads: Codes
    """A number for the head of each unit. Shape (m,)."""
    tails: Codes
    """Numbers for its true and its false tail. Shape (m, 2)."""
    lost: Floats | None = None
    """Those that only the second score got right; None for a share."""
    n_most: Floats | None = None
    """The most independent observations that a unit can amount to; None for all of them. Shape (m,)."""


@dataclass(frozen=True)
class Spread:
    """The statistics that the intervals of one score need (intervals.py)."""

    n_pairs: float
    n_observations: float
    n_most: float
    gained: float
    """Share of the observations."""
    lost: float
    gained_robust_n: float
    """Observations over the design effect of this side with pairs as clusters; nan without variation."""
    lost_robust_n: float
    pair_degrees: float
    """Degrees of freedom of the variance with pairs as the only clusters; at most m − 1."""
    correlation: float
    """Correlation of the residuals of gains and losses over the pairs; 0 if one of them does not vary."""
    standard_error: float
    """Cluster-robust standard error of the score with the pair as the cluster; nan for one pair."""
    inflation: float
    """Variance for new facts over the variance with the pair as the only cluster; at least 1."""
    n_effective: float
    """Effective number of heads or of tails, whichever is smaller (Kish 1965)."""
    n_rare: float
    """The same, at most the number over which the changed observations are spread, or the unchanged ones."""
    is_difference: bool


def measure_spread(observations: Observations) -> Spread | None:
    """Return what the intervals of a score need; None if nothing was observed."""
    asked = add_triplets(observations.n) > 0
    if not asked.any():
        return None
    gained, n = observations.gained[asked], observations.n[asked]
    is_difference = observations.lost is not None
    lost = np.zeros_like(gained) if observations.lost is None else observations.lost[asked]
    size = add_triplets(n)
    total, m = float(size.sum()), len(size)
    of_gains, of_losses, of_net = (
        add_triplets(subtract_mean(counted, n)) for counted in (gained, lost, gained - lost)
    )
    both_vary = float(np.sqrt((of_gains**2).sum() * (of_losses**2).sum()))
    inflation, n_effective, n_rare = compare_clusters(
        gained - lost, gained + lost, n, observations.heads[asked], observations.tails[asked]
    )
    return Spread(
        n_pairs=m,
        n_observations=total,
        n_most=total if observations.n_most is None else float(observations.n_most[asked].sum()),
        gained=float(gained.sum()) / total,
        lost=float(lost.sum()) / total,
        gained_robust_n=_count_independent(gained, total, of_gains),
        lost_robust_n=_count_independent(lost, total, of_losses),
        pair_degrees=_count_degrees(gained, lost, n) if is_difference else _count_informative(gained, n),
        correlation=float((of_gains * of_losses).sum()) / both_vary if both_vary > 0 else 0.0,
        standard_error=float(np.sqrt(m / (m - 1) * (of_net**2).sum())) / total if m > 1 else np.nan,
        inflation=inflation,
        n_effective=n_effective,
        n_rare=n_rare,
        is_difference=is_difference,
    )


def add_triplets(counts: Floats) -> Floats:
    """Return the sums of the rows, 40 times as fast as `counts.sum(1)`. Shape (m,)."""
    return np.asarray(counts[:, 0] if counts.shape[1] == 1 else counts[:, 0] + counts[:, 1])


def subtract_mean(counted: Floats, n: Floats) -> Floats:
    """Return what each count has more than its part of the sum; 0 if all of them are rounding errors."""
    residual = counted - counted.sum() / n.sum() * n
    return np.asarray(residual * (np.abs(add_triplets(residual)).max() > NEGLIGIBLE * n.max()))


def compare_clusters(
    net: Floats, changed: Floats, n: Floats, heads: Codes, tails: Codes
) -> tuple[float, float, float]:
    """Return the variance for new facts over that with pairs as the only clusters, n_effective and n_rare.

    The variance for new facts is two-way cluster-robust (Cameron, Gelbach and Miller 2011): V = V_head +
    V_tail − V_both, at least V_head, V_tail and V_pair. A triplet has one tail. A pair as a whole has two, so
    its V_tail is that of dyads (Aronow, Samii and Assenova 2015), in which pairs that share both tails count
    once.
    """
    residual, total = subtract_mean(net, n), n.sum()
    of_pairs = add_triplets(residual)
    by_pair = float((of_pairs**2).sum() * correct_residual(1 / len(n)))
    sums_by_head = [_add_up(heads, add_triplets(values)) for values in (residual, n, changed)]
    by_head = _add_squares(sums_by_head, total)
    if n.shape[1] == 2:
        sums_by_tail = [_add_up(tails.ravel(), values.ravel()) for values in (residual, n, changed)]
        by_tail = _add_squares(sums_by_tail, total)
        by_both = float((residual**2).sum() * correct_residual(1 / (n > 0).sum()))
    else:
        twice = [np.repeat(values, 2) for values in (residual, n, changed)]
        sums_by_tail = [_add_up(tails.ravel(), values) for values in twice]
        low, high = tails.min(1), tails.max(1)
        same_tails = np.unique(low * (tails.max() + 1) + high, return_inverse=True)[1]
        shared = [_add_up(same_tails, add_triplets(values)) for values in (residual, n)]
        by_tail = _add_squares(sums_by_tail, total) - _add_squares(shared, total)
        by_both = by_pair
    inflation = max(by_head + by_tail - by_both, by_head, by_tail, by_pair) / by_pair if by_pair else 1.0
    counts = [
        (count_effective(sizes), count_effective(changes), count_effective(sizes - changes))
        for _, sizes, changes in (sums_by_head, sums_by_tail)
    ]
    return inflation, min(sizes for sizes, *_ in counts), min(min(numbers) for numbers in counts)


def _add_up(codes: Codes, values: Floats) -> Floats:
    """Return the sum of the values of each cluster."""
    return np.asarray(np.bincount(codes, values), float)


def _add_squares(clusters: Sequence[Floats], total: float) -> float:
    """Return the sum of squares over clusters with these residuals and sizes."""
    residuals, sizes = clusters[:2]
    return float((residuals**2 * correct_residual(sizes / total)).sum())


def correct_residual(size_share: npt.ArrayLike) -> Floats:
    """Return the factor of the squared residual of a cluster with this share of the observations.

    Without the cluster, the mean would move by residual / (1 − share) (the jackknife, CR3; Bell and McCaffrey
    2002). With few or uneven clusters the variance would be too small otherwise.
    """
    return np.asarray(1 / (1 - np.minimum(size_share, MAX_SIZE_SHARE)) ** 2)


def count_effective(sizes: Floats) -> float:
    """Return the effective number of clusters with these sizes, (Σn)² / Σn² (Kish 1965); inf without any."""
    squares = float((sizes**2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else np.inf


def _count_independent(counted: Floats, total: float, residual: Floats) -> float:
    """Return n / deff: deff = V / (p(1−p)/N), V = m/(m−1) · Σ residual² / N² (Taylor linearisation)."""
    m, right, squares = len(residual), float(counted.sum()), float((residual**2).sum())
    return right * (total - right) * (m - 1) / m / squares if squares else np.nan


def _count_informative(right: Floats, n: Floats) -> float:
    """Return the pairs with a right observation or those with a wrong one, whichever are fewer."""
    counted, size = add_triplets(right), add_triplets(n)
    rounding = NEGLIGIBLE * size.max()
    return float(min((counted > rounding).sum(), (counted < size - rounding).sum(), len(size) - 1))


def _count_degrees(gained: Floats, lost: Floats, n: Floats) -> float:
    """Return the degrees of freedom of the variance of a difference: 1 / (1/(m − 1) + u + 1/c³).

    Wilson's intervals allow for the number of changes, so only the sizes of the changes are uncertain. u is
    the relative variance of the sum of their squares, given their number, over the changed triplets. It is
    not halved, as it is by Satterthwaite (1946): half of it is too little for two equally good models with
    105 pairs. c is the number of changed pairs. One to three changes of the same size do not show that no
    change is larger. With c² in place of c³, six of the 21 kinds of differences with 105 pairs are covered in
    more than 98 % of the simulated editions (benchmarks/coverage.py).
    """
    most, negligible = len(n) - 1, NEGLIGIBLE * n.max()
    changes = np.concatenate([gained, lost]).ravel()
    changes = changes[changes > negligible]
    if not (most and len(changes)):
        return 0.0
    uneven = 1 / count_effective(changes**2) - 1 / len(changes)
    n_changed = float((add_triplets(gained + lost) > negligible).sum())
    return 1 / (1 / most + uneven + n_changed**-3)
