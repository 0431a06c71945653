"""The chance that a negative is true nevertheless. It differs from pair to pair, so that it gives an order.

The evidence of `evidence.py` is the same for many pairs, and a small base has none for most of them. But
every pair has one more piece of evidence: how similar the head is to other heads that have the tail, by the
three-letter parts of their words. They count as one head besides the imagined ones. A logistic regression on
the sum tells listed facts, each judged as if it were not listed, from unlisted pairs with the same tails.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.names import fold_names
from tasks.drawing.name_features import cut_grams, mark_parts
from tasks.drawing.relation_facts import PAIR, RelationFacts

GRAM_LENGTH = 3
MAX_PEERS = 32
"""Heads with a tail to which another head is compared, drawn by hash. They bound time and memory."""
MIN_SIMILARITY = 0.5
"""The similarity from which the other head is named as a reason."""
N_STEPS = 20
"""Steps of Newton's method."""
MIN_SLOPE = 0.1
"""The least slope. More evidence makes a pair more doubtful even if the base has too few facts to show it."""
DIGITS, DOUBT_DIGITS = 8, 6
"""Decimals of a similarity, and of a doubt. Those behind depend on the order of sums, and on the machine."""

Shares = NDArray[np.float64]


class Peers(NamedTuple):
    """The other heads with the tail of each of some pairs, as the head of the pair resembles them."""

    names: pl.Series
    """The most similar one; null if its similarity is below MIN_SIMILARITY."""
    evidence: Shares
    """The mean square of the greatest and the mean similarity: 0 to 1. The similarity of two heads is the
    cosine of their parts, of which rare ones count most."""


class SimilarHeads:
    """The parts of the names of all heads of a relation, weighted by how few heads have them."""

    def __init__(self, facts: RelationFacts) -> None:
        """Cut the names into parts."""
        listed = facts.rows.filter(~pl.col("also_true")).select(PAIR).unique()
        drawn = listed.join(facts.heads, on="head").sort("number", "head").rename({"head": "peer"})
        self._peers = drawn.group_by("tail", maintain_order=True).head(MAX_PEERS).select("tail", "peer")
        self._heads = facts.heads["head"]
        split = fold_names(self._heads).str.split(" ").to_frame("part").with_row_index("row")
        of_heads = split.explode("part").unique()
        words = of_heads.select("part").unique().with_row_index("column")
        of_words = cut_grams(words.select(row="column", word="part"), (GRAM_LENGTH,)).unique()
        parts = of_words.select("part").unique().with_row_index("column")
        marks = mark_parts(of_heads, words, len(self._heads)) @ mark_parts(of_words, parts, words.height)
        marks.sort_indices()
        n_heads = np.bincount(marks.indices, minlength=marks.shape[1])
        weights = np.log1p(len(self._heads) / np.maximum(n_heads, 1))[marks.indices]
        rows = np.repeat(np.arange(len(self._heads)), np.diff(marks.indptr))
        lengths = np.sqrt(np.bincount(rows, weights**2, minlength=len(self._heads)))
        self._parts = marks.astype(np.float64)
        self._parts.data = weights / lengths[rows]

    def find_peers(self, pairs: pl.DataFrame) -> Peers:
        """Return the peers of pairs of a head and a tail."""
        given = pairs.select(PAIR).with_row_index("place")
        ends = given.join(self._peers, on="tail").filter(pl.col("head") != pl.col("peer"))
        ones, others = (self._heads.search_sorted(ends[end]).to_numpy() for end in ("head", "peer"))
        similarity = np.asarray(self._parts[ones].multiply(self._parts[others]).sum(axis=1)).ravel()
        compared = ends.select("place", "peer", similarity=np.round(similarity, DIGITS))
        order = compared.sort("similarity", "peer", descending=[True, False])
        of_pairs = order.group_by("place", maintain_order=True).agg(
            pl.col("peer", "similarity").first(),
            square=(pl.col("similarity").max() ** 2 + pl.col("similarity").mean() ** 2) / 2,
        )
        nearest = given.select("place").join(of_pairs, on="place", how="left", maintain_order="left")
        names = nearest.select(pl.when(pl.col("similarity") >= MIN_SIMILARITY).then("peer"))
        return Peers(names.to_series(), nearest["square"].fill_null(0.0).to_numpy())


@dataclass(frozen=True)
class Doubts:
    """A logistic regression: the log odds that a pair is true are intercept + slope · log(1 + evidence)."""

    intercept: float
    slope: float

    def estimate(self, evidence: Shares) -> Shares:
        """Return the chances that pairs with so much evidence are true."""
        odds = np.exp(self.intercept + self.slope * np.log1p(evidence))
        chances: Shares = np.round(odds / (1 + odds), DOUBT_DIGITS)
        return chances


def fit_doubts(listed: Shares, unlisted: Shares, prior_odds: float) -> Doubts:
    """Return the regression of listed facts against unlisted pairs by their evidence, with a ridge of 1.

    Args:
        prior_odds: the odds that a pair is true whose evidence is not known.
    """
    columns = np.stack([np.ones(len(listed) + len(unlisted)), np.log1p(np.concatenate([listed, unlisted]))])
    is_listed = np.arange(columns.shape[1]) < len(listed)
    weights = np.zeros(2)
    for _ in range(N_STEPS):
        chances = 1 / (1 + np.exp(-weights @ columns))
        gradient = columns @ (is_listed - chances) - weights
        curvature = (columns * (chances * (1 - chances))) @ columns.T + np.eye(2)
        weights += np.linalg.solve(curvature, gradient)
    balance = np.log(max(len(unlisted), 1) / max(len(listed), 1))
    return Doubts(float(weights[0] + balance + np.log(prior_odds)), max(float(weights[1]), MIN_SLOPE))
