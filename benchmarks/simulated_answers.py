"""Simulated answers of models to the pairs of a real edition, whose heads and tails are known or not known.

A sample is answered right if a normal variable is above a threshold. Its variance is 1, the sum of the parts
of the head, of the tail, of the pair and of the sample alone. So answers are correlated within heads, tails
and pairs, and the chance of a right answer is known exactly (a probit model with random effects).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import binom, hypergeom

from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from tasks.drawing.heads import TripletSampling
from tasks.edition.triplets import draw_triplets

K = 8
PAIR_SHARE = 0.2
"""The variance that the two triplets of a pair share, besides that of their head."""
MODEL_CORRELATION = 0.5
"""The correlation of what two models know about a head, a tail or a pair."""
LEVELS = 4096
BATCH = 3_000_000
"""Pairs that are simulated at once: about 0.3 GB."""

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]
Codes = np.ndarray[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True)
class PairClusters:
    """The head, the true tail and the false tail of every pair, as numbers from 0."""

    heads: Codes
    tails: Codes
    other_tails: Codes


def read_clusters(knowledge: KnowledgeConfig, cap: int | None) -> PairClusters:
    """Draw the test pairs of an edition as the pipeline does, and return their clusters.

    A name is one cluster in all relations, as in the views.

    Args:
        cap: heads per relation at most.
    """
    base, sampling = read_knowledge_base(knowledge), TripletSampling(1, heads_per_relation=cap)
    drawn = (
        pl.concat(draw_triplets(base, relation, sampling) for relation in base.relations)
        .filter(pl.col("split") == "test")
        .select("pair_id", "is_positive", pl.col("head", "tail").str.to_lowercase())
    )
    pairs = drawn.filter("is_positive").join(
        drawn.filter(~pl.col("is_positive")), on="pair_id", suffix="_other"
    )
    _, heads = np.unique(pairs["head"].to_numpy(), return_inverse=True)
    _, tails = np.unique(np.concatenate([pairs["tail"], pairs["tail_other"]]), return_inverse=True)
    return PairClusters(heads, tails[: len(pairs)], tails[len(pairs) :])


@dataclass(frozen=True)
class Answering:
    """How models answer: which measure has which value, and the variance that heads and tails carry."""

    measure: str
    accuracy: float
    head_share: float
    tail_share: float

    @property
    def scales(self) -> tuple[float, float, float, float]:
        """Return the standard deviations of head, tail, pair and sample."""
        own = 1 - self.head_share - self.tail_share - PAIR_SHARE
        return (self.head_share**0.5, self.tail_share**0.5, PAIR_SHARE**0.5, own**0.5)

    def find_mean(self) -> float:
        """Return the mean of the normal variable for which the measure has the accuracy."""
        if self.measure == "average":
            return float(ndtri(self.accuracy))
        return float(brentq(lambda mean: self._expect(mean) - self.accuracy, -8, 10))

    def _expect(self, mean: float) -> float:
        """Return the expected joint accuracy or mastery, by Gauss-Hermite quadrature."""
        head, tail, pair, sample = self.scales
        x, weights = np.polynomial.hermite_e.hermegauss(80)
        weights = weights / weights.sum()
        common = mean + np.hypot(head, pair) * x[:, None]
        all_right = ndtr((common + tail * x[None, :]) / sample) ** K @ weights
        return float(weights @ (all_right if self.measure == "joint" else all_right**2))


def draw_answers(
    clusters: PairClusters, answering: Answering, n_editions: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Yield the right answers of 8 to the true and to the false triplets, by edition and pair, in batches."""
    mean, n_pairs = answering.find_mean(), len(clusters.heads)
    for n in _split(n_editions, n_pairs):
        yield _count(clusters, answering, mean, _draw_effects(clusters, n, rng), rng)


def draw_two_models(
    clusters: PairClusters, answering: Answering, n_editions: int, rng: np.random.Generator
) -> Iterator[tuple[tuple[Array, Array], tuple[Array, Array], tuple[Array, Array]]]:
    """Yield, for each of the two triplets, the right answers of two equally good models, and of both at once.

    The order is: right by the first (true, false triplet), right by the second, right by both.
    """
    mean, n_pairs = answering.find_mean(), len(clusters.heads)
    for n in _split(n_editions, 2 * n_pairs):
        one, fresh = (_draw_effects(clusters, n, rng) for _ in range(2))
        mix = np.float32(MODEL_CORRELATION), np.float32((1 - MODEL_CORRELATION**2) ** 0.5)
        other = tuple(mix[0] * a + mix[1] * b for a, b in zip(one, fresh, strict=True))
        first, second = (_count(clusters, answering, mean, known, rng) for known in (one, other))
        both = (_overlap(first[0], second[0], rng), _overlap(first[1], second[1], rng))
        yield first, second, both


def _split(n_editions: int, size: int) -> Iterator[int]:
    step = max(1, BATCH // size)
    for start in range(0, n_editions, step):
        yield min(step, n_editions - start)


def _draw_effects(clusters: PairClusters, n: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Return a standard normal variable for every head, tail and pair of n editions."""
    n_tails = int(max(clusters.tails.max(), clusters.other_tails.max())) + 1
    sizes = (int(clusters.heads.max()) + 1, n_tails, len(clusters.heads))
    return tuple(rng.standard_normal((n, size), dtype=np.float32) for size in sizes)


def _count(
    clusters: PairClusters,
    answering: Answering,
    mean: float,
    known: tuple[Array, ...],
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    heads, tails, pairs = known
    head, tail, pair, sample = (np.float32(scale) for scale in answering.scales)
    common = np.float32(mean) + head * heads[:, clusters.heads] + pair * pairs
    true, false = (
        _draw_counts((common + tail * tails[:, own]) / sample, rng)
        for own in (clusters.tails, clusters.other_tails)
    )
    return true, false


def _draw_counts(z: Array, rng: np.random.Generator) -> Array:
    """Draw from the binomial of 8 and Φ(z), by a table: five times as fast as numpy's own."""
    bins = np.clip((z + 6) * (LEVELS / 12), 0, LEVELS - 1).astype(np.int32)
    chosen = bins * LEVELS + rng.integers(0, LEVELS, z.shape, dtype=np.int32)
    return np.asarray(_COUNTS[chosen], dtype=np.float32)


def _overlap(one: Array, other: Array, rng: np.random.Generator) -> Array:
    """Draw how many of 8 samples both models have right; which ones each has right is independent."""
    cell = (one * (K + 1) + other).astype(np.int32)
    chosen = cell * LEVELS + rng.integers(0, LEVELS, one.shape, dtype=np.int32)
    return np.asarray(_OVERLAPS[chosen], dtype=np.float32)


def _tabulate() -> tuple[Codes, Codes]:
    u = (np.arange(LEVELS) + 0.5) / LEVELS
    chances = ndtr((np.arange(LEVELS) + 0.5) * 12 / LEVELS - 6)
    steps = binom.cdf(np.arange(K)[:, None], K, chances[None, :])
    counts = sum((u[None, :] > step[:, None]).astype(np.uint8) for step in steps)
    pairs = [(a, b) for a in range(K + 1) for b in range(K + 1)]
    overlaps = np.array([hypergeom.ppf(u, K, a, b) for a, b in pairs], dtype=np.uint8)
    return np.asarray(counts).ravel(), overlaps.ravel()


_COUNTS, _OVERLAPS = _tabulate()
