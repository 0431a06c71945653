"""What the base says of some heads of a relation, in numbers, for the assignment of their tails."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.mixing import hash_column
from tasks.drawing.name_features import NameFeatures, Rows
from tasks.drawing.related_words import RelatedWords
from tasks.drawing.relation_facts import PAIR, RelationFacts

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Block:
    """Heads whose tails are assigned together. Names are positions in `KnownNames.names`."""

    heads: Rows
    own: Rows
    """The head of each fact that can be a positive, as a position in ``heads``; sorted."""
    tails: Rows
    """The tail of each of these facts."""
    is_due: Flags
    """Whether it is the turn of the fact in a series of editions."""
    is_excluded: Flags
    """One row per fact, one column per head: whether its tail may not be a negative of the head."""
    is_asserted: Flags
    """Likewise: whether the base asserts that it is false."""


class KnownNames:
    """Some heads, their tails and all that is true of them."""

    def __init__(self, facts: RelationFacts, heads: pl.Series, tested: pl.DataFrame) -> None:
        """Look up the facts.

        Args:
            tested: the facts that can be positives, sorted by head and tail, with the column is_due.
        """
        given = heads.to_frame("head")
        true, tails = facts.list_true(given), tested.select("tail").unique()
        excluded = facts.exclude(true, tails)
        asserted = facts.exclude(facts.list_asserted(given), tails).join(excluded, on=PAIR, how="anti")
        self.names = pl.concat([heads, true["tail"], tails["tail"]]).unique().sort()
        self.numbers = hash_column(self.names)
        self.features = NameFeatures(self.names)
        self._related = RelatedWords(self.names)
        self._is_due = tested["is_due"].to_numpy()
        self._tested, self._true, self._excluded, self._asserted = map(
            self._index, (tested, true, excluded, asserted)
        )

    def _locate(self, names: pl.Series) -> Rows:
        return self.names.search_sorted(names).to_numpy().astype(np.int64)

    def _index(self, pairs: pl.DataFrame) -> Rows:
        """Return one row per pair of a head and a tail: their positions in the names."""
        return np.stack([self._locate(pairs["head"]), self._locate(pairs["tail"])], axis=1)

    def split(self, blocks: Sequence[pl.Series]) -> Iterator[Block]:
        """Yield what is known of the heads of each block."""
        n_blocks, block_of = len(blocks), np.zeros(len(self.names), np.int64)
        of_blocks = [np.sort(self._locate(heads)) for heads in blocks]
        for number, heads in enumerate(of_blocks):
            block_of[heads] = number
        parts = [
            _partition(pairs, pairs, block_of, n_blocks)
            for pairs in (self._tested, self._true, self._excluded, self._asserted)
        ]
        due = _partition(self._is_due, self._tested, block_of, n_blocks)
        for n, heads in enumerate(of_blocks):
            yield self._build_block(heads, due[n], *(part[n] for part in parts))

    def _build_block(
        self, heads: Rows, is_due: Flags, tested: Rows, true: Rows, excluded: Rows, asserted: Rows
    ) -> Block:
        tails, fact_tails = np.unique(tested[:, 1], return_inverse=True)
        is_asserted = _mark(heads, tails, asserted)
        true = true[np.argsort(true[:, 0], kind="stable")]
        names, true_names = np.unique(true[:, 1], return_inverse=True)
        is_uncertain = self._related.find(tails, names)[:, true_names]
        # Every head has a true tail, so that every group of columns has one.
        is_related = np.logical_or.reduceat(is_uncertain, np.searchsorted(true[:, 0], heads), axis=1)
        is_excluded = _mark(heads, tails, excluded) | (is_related & ~is_asserted)
        own = np.searchsorted(heads, tested[:, 0])
        return Block(heads, own, tested[:, 1], is_due, is_excluded[fact_tails], is_asserted[fact_tails])


def _partition(values: NDArray[Any], pairs: Rows, block_of: Rows, n_blocks: int) -> list[NDArray[Any]]:
    """Return the values of each block, in their order; the first column of the pairs has their heads."""
    blocks = block_of[pairs[:, 0]]
    order = np.argsort(blocks, kind="stable")
    return np.split(values[order], np.searchsorted(blocks[order], np.arange(1, n_blocks)))


def _mark(heads: Rows, tails: Rows, pairs: Rows) -> Flags:
    """Return one row per tail and one column per head: whether they are among the pairs."""
    marked = np.zeros((len(tails), len(heads)), bool)
    rows = np.searchsorted(tails, pairs[:, 1])
    is_here = (rows < len(tails)) & (tails[np.minimum(rows, len(tails) - 1)] == pairs[:, 1])
    marked[rows[is_here], np.searchsorted(heads, pairs[is_here, 0])] = True
    return marked
