"""How much heads and tails resemble each other by their letters, as whole numbers for many pairs at once.

Whole numbers are the same on every machine. Every feature counts parts that both names have, or the share of
the tail's parts (or of the head's words) that the other name has too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from knowledge.spelling import fold_name

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix = NDArray[np.int32]
Columns = NDArray[np.int64]
Parts = Callable[[str], list[str]]
SHARE = 60
"""Shares are in sixtieths: whole numbers for names of up to six words."""
GRAM_LENGTHS = (2, 3, 4, 6)
AFFIX_LENGTHS = (2, 3, 4, 5, 6, 7, 8)
# The coarse classes of resemblance.
MAX_WORDS = 2
STEM_LENGTH = 5
GRAM_LENGTH = 3
SIXTHS = 6
TAILS_AT_ONCE = 1000


@dataclass(frozen=True)
class Incidence:
    """Which parts the heads and the tails have: one row per name, one column per part, 1 where it has it."""

    heads: "csr_array"
    tails: "csr_array"

    def count_shared(self, columns: Columns) -> Matrix:
        """Return how many parts each of the given tails (rows) shares with each head (columns)."""
        shared: Matrix = (self.tails[columns] @ self.heads.T).toarray()
        return shared

    def count_parts(self, columns: Columns) -> tuple[Matrix, Matrix]:
        """Return the number of parts of each head, and of each of the given tails; at least 1."""
        return self._count_rows(self.heads), self._count_rows(self.tails[columns])

    @staticmethod
    def _count_rows(rows: "csr_array") -> Matrix:
        return np.maximum(np.diff(rows.indptr), 1).astype(np.int32)


class NameOverlap:
    """The features of all pairs of a head and a tail, computed for some tails at a time to save memory."""

    def __init__(self, heads: Sequence[str], tails: Sequence[str]) -> None:
        """Split the names into words, beginnings and endings of words, and character n-grams."""
        folded = [fold_name(name) for name in heads], [fold_name(name) for name in tails]
        self._words = _build_incidence(*folded, str.split)
        self._last = _build_incidence(*folded, lambda name: name.split()[-1:])
        self._grams = {n: _build_incidence(*folded, _list_grams(n)) for n in GRAM_LENGTHS}
        self._beginnings = {n: _build_incidence(*folded, _list_beginnings(n)) for n in AFFIX_LENGTHS}
        self._endings = {n: _build_incidence(*folded, _list_endings(n)) for n in AFFIX_LENGTHS}

    def iterate_features(self, tails: Columns) -> Iterator[tuple[int, Matrix]]:
        """Yield weight and values of each feature: one row per given tail, one column per head."""
        shared = self._words.count_shared(tails)
        of_heads, of_tails = self._words.count_parts(tails)
        yield 40, shared
        yield 2, SHARE * shared // of_tails[:, None]
        yield 1, SHARE * shared // of_heads[None, :]
        yield 40, self._last.count_shared(tails)
        for grams in self._grams.values():
            shared = grams.count_shared(tails)
            of_heads, of_tails = grams.count_parts(tails)
            yield 1, SHARE * shared // of_tails[:, None]
            yield 1, SHARE * shared // of_heads[None, :]
        yield 10, _find_longest(self._beginnings, tails)
        yield 4, _find_longest(self._endings, tails)

    def compare_heads(self, heads: Columns, tails: Columns) -> Matrix:
        """Return how differently the tails of some facts resemble their own heads and all heads.

        Args:
            heads: the head of each fact.
            tails: the tail of each fact.

        Returns:
            One row per fact, one column per head: the sum of the weighted differences of all features.
        """
        columns, position = np.unique(tails, return_inverse=True)
        return add_differences(self.iterate_features(columns), position, heads, self._words.heads.shape[0])

    def classify(self) -> NDArray[np.int8]:
        """Return the coarse class of resemblance: one row per tail, one column per head.

        Pairs are of one class if they are alike in three counts: shared words (at most 2), whether words
        begin with the same five letters, and sixths of the tail's trigrams that the head has too.
        """
        n_tails = self._words.tails.shape[0]
        starts = range(0, n_tails, TAILS_AT_ONCE)
        blocks = [self._classify_some(np.arange(n, min(n + TAILS_AT_ONCE, n_tails))) for n in starts]
        return np.concatenate(blocks)

    def _classify_some(self, tails: Columns) -> NDArray[np.int8]:
        words = np.minimum(self._words.count_shared(tails), MAX_WORDS)
        stems = np.minimum(self._beginnings[STEM_LENGTH].count_shared(tails), 1)
        grams = self._grams[GRAM_LENGTH]
        sixths = SIXTHS * grams.count_shared(tails) // grams.count_parts(tails)[1][:, None]
        classes: NDArray[np.int8] = ((words * 2 + stems) * (SIXTHS + 1) + sixths).astype(np.int8)
        return classes


def add_differences(
    features: Iterable[tuple[int, Matrix]], position: Columns, own: Columns, n_heads: int
) -> Matrix:
    """Return one row per fact and one column per head: the sum of the weighted differences of all features.

    Args:
        features: weight and values of each feature: one row per tail, one column per head.
        position: the row of each fact's tail in the values.
        own: the column of each fact's head in the values.
        n_heads: the number of columns.
    """
    difference = np.zeros((len(own), n_heads), np.int32)
    for weight, values in features:
        of_facts = values[position]
        of_facts -= values[position, own][:, None]
        np.abs(of_facts, out=of_facts)
        of_facts *= weight
        difference += of_facts
    return difference


def _find_longest(of_length: dict[int, Incidence], tails: Columns) -> Matrix:
    """Return the greatest length of which both names have a part in common; 0 if there is none."""
    longest = np.zeros((len(tails), next(iter(of_length.values())).heads.shape[0]), np.int32)
    for length, incidence in of_length.items():
        longest[incidence.count_shared(tails) > 0] = length
    return longest


def _list_beginnings(length: int) -> Parts:
    return lambda name: [word[:length] for word in name.split() if len(word) >= length]


def _list_endings(length: int) -> Parts:
    return lambda name: [word[-length:] for word in name.split() if len(word) >= length]


def _list_grams(length: int) -> Parts:
    def split(name: str) -> list[str]:
        padded = f" {name} "
        return [padded[i : i + length] for i in range(len(padded) - length + 1)]

    return split


def _build_incidence(heads: Sequence[str], tails: Sequence[str], parts: Parts) -> Incidence:
    # The import takes 0.3 s, and most commands draw nothing.
    from scipy.sparse import csr_array

    sets = [set(parts(name)) for name in (*heads, *tails)]
    column_of = {part: column for column, part in enumerate(set().union(*sets))}
    ends = np.cumsum([0, *(len(found) for found in sets)])
    columns = np.array([column_of[part] for found in sets for part in found], np.int32)
    ones = np.ones(len(columns), np.int32)
    rows = csr_array((ones, columns, ends), shape=(len(sets), max(len(column_of), 1)))
    return Incidence(rows[: len(heads)], rows[len(heads) :])
