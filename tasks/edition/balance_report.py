"""What balanced negatives cost a relation, and whether they could be balanced: figures for the manifest."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from knowledge.spelling import fold_name
from tasks.drawing.balanced_pairs import MAX_HEADS
from tasks.drawing.candidates import Head, collect_candidates
from tasks.drawing.name_overlap import NameOverlap
from tasks.drawing.related_names import exclude_related

# A guesser that knows the tail and the class of resemblance is right on at most 50 % of the triplets plus
# half of this share. The trained guessers of tasks/quality/guessers.py know more: on MedLAMA they are right
# on 55 to 74 % in the relations above the limit, and on at most 54 % in those below it.
MAX_UNMATCHED_SHARE = 0.1
IMPOSSIBLE = 2**20
"""The cost if the giver has no true tail that may be false of the taker: more than any number of pairs."""


@dataclass(frozen=True)
class BalanceReport:
    """Counts of one relation. A pair is a true and a false test triplet of one head."""

    n_pairs: int
    n_candidates: int
    """Combinations of a head and a tail of the relation that the base does not state."""
    n_related: int
    """Those of them that were excluded: by its words, the tail generalises or specialises a true one."""
    n_true_sharing: int
    """True test triplets whose head and tail share a word."""
    n_false_sharing: int
    """False test triplets whose head and tail share a word."""
    n_unmatched: int
    """True test triplets without a false one of the same tail and the same class of resemblance."""
    n_unmatchable: int | None
    """The least number of unmatched triplets that the names allow, whatever tails are chosen for the heads of
    these pairs. None if there are more than 2,000 pairs: the time grows with the third power."""
    n_asserted: int
    """False test triplets that the base asserts to be false."""

    @property
    def is_balanced(self) -> bool:
        """Whether few triplets are unmatched. If not, n_unmatchable says how many must be."""
        return self.n_unmatched <= MAX_UNMATCHED_SHARE * self.n_pairs

    def describe(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return {**vars(self), "is_balanced": self.is_balanced}


def report_balance(
    relation: str, rows: pl.DataFrame, triplets: pl.DataFrame, also_false: pl.DataFrame | None = None
) -> BalanceReport:
    """Return the counts of one relation.

    Args:
        rows: the relation's rows of the knowledge base.
        triplets: the relation's triplets of the edition.
        also_false: the relation's triplets that the base asserts to be false, if there are any.
    """
    candidates = collect_candidates(relation, rows, also_false)
    unrelated = exclude_related(candidates)
    n_allowed, n_unrelated = (
        sum(len(found.pool) - len(head.excluded) for head in found.heads) for found in (candidates, unrelated)
    )
    tested = triplets.filter(pl.col("split") == "test")
    names = set(tested["head"])
    classes = _Classes([head for head in unrelated.heads if head.name in names], tested["tail"])
    true, false = (
        tested.filter(is_positive=is_positive).select("head", "tail").rows() for is_positive in (True, False)
    )
    return BalanceReport(
        n_pairs=len(true),
        n_candidates=n_allowed,
        n_related=n_allowed - n_unrelated,
        n_true_sharing=sum(_share_word(*pair) for pair in true),
        n_false_sharing=sum(_share_word(*pair) for pair in false),
        n_unmatched=(classes.count(true) - classes.count(false)).total(),
        n_unmatchable=classes.count_unmatchable() if len(true) <= MAX_HEADS else None,
        n_asserted=tested.filter("is_asserted").height,
    )


def _share_word(head: str, tail: str) -> bool:
    return not set(fold_name(head).split()).isdisjoint(fold_name(tail).split())


class _Classes:
    """How much each of some heads resembles each tail, in coarse classes (NameOverlap.classify)."""

    def __init__(self, heads: Sequence[Head], drawn: Iterable[str]) -> None:
        tails = sorted({*drawn, *(tail for head in heads for tail in head.tails)})
        self.heads = heads
        self.row_of = {tail: row for row, tail in enumerate(tails)}
        self.column_of = {head.name: column for column, head in enumerate(heads)}
        self.matrix = NameOverlap(list(self.column_of), tails).classify()

    def count(self, pairs: Iterable[tuple[str, str]]) -> Counter[tuple[str, int]]:
        """Return how many of the pairs of a head and a tail there are of each tail and class."""
        return Counter(
            (tail, int(self.matrix[self.row_of[tail], self.column_of[head]])) for head, tail in pairs
        )

    def count_unmatchable(self) -> int:
        """Return the least number of unmatched triplets, of all balanced choices that keep every head.

        As in draw_balanced, every head gives one of its true tails to another head as a negative. That costs
        1 unless the tail resembles both heads in the same class. Heads that swap the negatives of one tail do
        not change which triplets are unmatched, so the least total cost is the number.
        """
        # The import takes 0.3 s, and most commands draw nothing.
        from scipy.optimize import linear_sum_assignment

        is_excluded = np.zeros(self.matrix.shape, bool)
        for column, head in enumerate(self.heads):
            is_excluded[[self.row_of[tail] for tail in head.excluded if tail in self.row_of], column] = True
        costs = np.empty((len(self.heads), len(self.heads)))
        for column, head in enumerate(self.heads):
            rows = [self.row_of[tail] for tail in head.tails]
            is_allowed = ~is_excluded[rows]
            is_alike = is_allowed & (self.matrix[rows] == self.matrix[rows][:, [column]])
            costs[column] = np.where(is_alike.any(0), 0, np.where(is_allowed.any(0), 1, IMPOSSIBLE))
        np.fill_diagonal(costs, IMPOSSIBLE)
        return int(costs[linear_sum_assignment(costs)].sum())
