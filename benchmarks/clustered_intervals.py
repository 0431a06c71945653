"""The intervals of warehouse/estimate_shares.sql for many simulated editions of one base.

The formulas are those of the SQL, in arrays: SQL would take minutes for the 5 million pairs of one cell.
tests/benchmarks/test_clustered_coverage.py compares the two.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import t

from benchmarks.simulated_answers import Array, Codes, PairClusters

Z = 1.959963984540054


@dataclass(frozen=True)
class Observed:
    """What is observed of every edition and pair: gained and lost of n, of each triplet or of the pair.

    The false triplet (the second of a tuple) is missing where the pair is observed as a whole. `lost` is None
    for the share of a single model.
    """

    gained: tuple[Array, ...]
    lost: tuple[Array, ...] | None
    n: int


@dataclass(frozen=True)
class Limits:
    """The limits per edition: for new facts, and with the base held fixed."""

    low: Array
    high: Array
    fixed_low: Array
    fixed_high: Array


class Structure:
    """The clusters of the pairs as matrices that add up the pairs, or the triplets, of every cluster."""

    def __init__(self, clusters: PairClusters) -> None:
        """Build the matrices: clusters × pairs."""
        pairs = np.arange(len(clusters.heads))
        n_tails = int(max(clusters.tails.max(), clusters.other_tails.max())) + 1
        self.n_pairs = len(pairs)
        self.heads = _add_up(clusters.heads, pairs)
        self.tails = _add_up(clusters.tails, pairs, n_tails), _add_up(clusters.other_tails, pairs, n_tails)
        ends = np.sort(np.stack([clusters.tails, clusters.other_tails]), axis=0)
        _, both = np.unique(ends[0] * n_tails + ends[1], return_inverse=True)
        self.both_tails = _add_up(both, pairs)

    @property
    def n_effective(self) -> float:
        """Return the effective number of heads or of tails, whichever is smaller."""
        sizes = (self.heads.sum(axis=1), (self.tails[0] + self.tails[1]).sum(axis=1))
        return min(float(np.sum(s)) ** 2 / float(np.square(s).sum()) for s in map(np.asarray, sizes))


def _add_up(clusters: Codes, pairs: Codes, n: int | None = None) -> csr_matrix:
    size = (n or int(clusters.max()) + 1, len(pairs))
    return csr_matrix((np.ones(len(pairs), np.float32), (clusters, pairs)), shape=size)


def estimate_limits(structure: Structure, observed: Observed) -> Limits:
    """Return the limits of every edition; the formulas are explained in warehouse/intervals.sql."""
    lost = observed.lost or tuple(np.zeros_like(g) for g in observed.gained)
    pair_gained, pair_lost = sum(observed.gained[1:], observed.gained[0]), sum(lost[1:], lost[0])
    size = observed.n * len(observed.gained)
    total = size * structure.n_pairs
    share = (pair_gained.sum(1) - pair_lost.sum(1)) / total
    inflation, n_rare = _measure_clustering(structure, observed, lost, share)
    sized = [
        (p.sum(1) / total, _effective_n(p, size), _effective_n(p, size, inflation, n_rare))
        for p in (pair_gained, pair_lost)
    ]
    if observed.lost is None:
        (fixed_low, fixed_high), (low, high) = (_wilson(sized[0][0], sized[0][k]) for k in (1, 2))
        return Limits(low, high, fixed_low, fixed_high)
    r = _correlate(pair_gained, pair_lost)
    (fixed_low, fixed_high), (low, high) = (
        _mover(sized[0][0], sized[1][0], sized[0][k], sized[1][k], r) for k in (1, 2)
    )
    return Limits(low, high, fixed_low, fixed_high)


def _measure_clustering(
    structure: Structure, observed: Observed, lost: tuple[Array, ...], share: Array
) -> tuple[Array, Array]:
    """Return inflation and n_rare of every edition."""
    m, n = structure.n_pairs, observed.n
    is_whole = len(observed.gained) == 1
    nets = [g - x - n * share[:, None] for g, x in zip(observed.gained, lost, strict=True)]
    changed = [g + x for g, x in zip(observed.gained, lost, strict=True)]
    pair_net, pair_changed = sum(nets[1:], nets[0]), sum(changed[1:], changed[0])
    n_units = m * len(nets)
    pair = np.square(pair_net).sum(1) / (1 - 1 / m) ** 2
    both = sum(np.square(net).sum(1) for net in nets) / (1 - 1 / n_units) ** 2
    head = _spread(structure.heads, [structure.heads @ pair_net.T], m)
    true, false = structure.tails
    if is_whole:
        tail = _spread(true + false, [(true + false) @ pair_net.T], m)
        tail -= _spread(structure.both_tails, [structure.both_tails @ pair_net.T], m)
    else:
        tail = _spread(true + false, [true @ nets[0].T, false @ nets[1].T], 2 * m)
    variance = np.maximum.reduce([head + tail - both, head, tail, pair])
    tail_changed = [true @ changed[0].T, false @ (changed[0] if is_whole else changed[1]).T]
    rare = [
        *_effective_numbers(structure.heads @ pair_changed.T, structure.heads, n * len(nets)),
        *_effective_numbers(tail_changed[0] + tail_changed[1], true + false, n),
    ]
    inflation = np.where(pair > 1e-6, variance / np.maximum(pair, 1e-6), 1.0)
    return inflation, np.minimum.reduce([np.full(len(share), structure.n_effective), *rare])


def _spread(adder: csr_matrix, sums: list[Array], n_units: int) -> Array:
    sizes = np.asarray(adder.sum(axis=1)).ravel() / n_units
    leave_out = 1 / (1 - np.minimum(sizes, 0.95)) ** 2
    return np.asarray((np.square(sum(sums[1:], sums[0])) * leave_out[:, None]).sum(0))


def _effective_numbers(changed: Array, adder: csr_matrix, n: int) -> list[Array]:
    """Return the effective numbers of clusters of the changed observations, and of the others."""
    sizes = np.asarray(adder.sum(axis=1)) * n
    spreads = [(counts.sum(0), np.square(counts).sum(0)) for counts in (changed, sizes - changed)]
    return [np.where(total > 0, total**2 / np.maximum(squares, 1e-9), np.inf) for total, squares in spreads]


def _effective_n(
    counts: Array, size: int, inflation: Array | float = 1.0, n_rare: Array | None = None
) -> Array:
    """Return the macro effective_n of every edition."""
    editions, m = counts.shape
    share = counts.sum(1) / (m * size)
    squares = np.square(counts - size * share[:, None]).sum(1)
    inflation = np.broadcast_to(np.asarray(inflation, dtype=float), (editions,))
    excess = np.zeros(editions) if n_rare is None else (1 - 1 / inflation) * 3 / np.maximum(n_rare, 9)
    if size == 1:
        factor = np.where(inflation > 1, _student_factor(1 / np.maximum(excess, 1e-6)), 1.0)
        n = m / inflation * factor
    else:
        informative = np.minimum(np.minimum((counts > 0).sum(1), (counts < size).sum(1)), m - 1)
        informative = np.maximum(informative, 1)
        robust = share * (1 - share) * (m * size) ** 2 * (m - 1) / m / np.maximum(squares, 1e-6) / inflation
        factor = _student_factor(np.minimum(informative, 1 / (excess + 1 / inflation / informative)))
        least = np.minimum(m if n_rare is None else n_rare, robust)
        n = np.minimum(m * size, np.maximum(least, robust * factor))
    return np.asarray(np.where(squares < 1e-6, m, n))


def _student_factor(df: Array) -> Array:
    whole = np.clip(np.floor(df), 1, 10_000).astype(int)
    values, places = np.unique(whole, return_inverse=True)
    return np.asarray((Z / t.ppf(0.975, values)) ** 2)[places]


def _wilson(share: Array, n: Array) -> tuple[Array, Array]:
    centre, scale = share * n + Z**2 / 2, n + Z**2
    half = Z * np.sqrt(np.maximum(share * (1 - share), 0) * n + Z**2 / 4)
    return (centre - half) / scale, (centre + half) / scale


def _mover(gained: Array, lost: Array, n_gained: Array, n_lost: Array, r: Array) -> tuple[Array, Array]:
    (g_low, g_high), (l_low, l_high) = _wilson(gained, n_gained), _wilson(lost, n_lost)

    def reach(a: Array, b: Array) -> Array:
        return np.asarray(np.sqrt(np.maximum(a * a - 2 * r * a * b + b * b, 0)))

    low = gained - lost - reach(gained - g_low, l_high - lost)
    return low, gained - lost + reach(g_high - gained, lost - l_low)


def _correlate(gained: Array, lost: Array) -> Array:
    a, b = (x - x.mean(1, keepdims=True) for x in (gained, lost))
    scale = np.sqrt(np.square(a).sum(1) * np.square(b).sum(1))
    return np.asarray(np.where(scale > 1e-6, (a * b).sum(1) / np.maximum(scale, 1e-6), 0.0))
