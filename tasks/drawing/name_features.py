"""Resemblance of heads and tails by their letters, as whole numbers for many pairs at once.

Whole numbers are the same on every machine. Every feature counts parts that both names have, or the share of
one name's parts that the other name has too. Parts of names are parts of their words, so that each distinct
word is cut only once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.names import fold_names

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix = NDArray[np.int32]
Rows = NDArray[np.int64]
SHARE = 60
"""Shares are in sixtieths: whole numbers for names of up to six words."""
GRAM_LENGTHS = (2, 3, 4, 6)
AFFIX_LENGTHS = (2, 3, 4, 5, 6, 7, 8)
LONGEST = len(AFFIX_LENGTHS)


class NameFeatures:
    """The parts of some names: one row per name in each matrix, one column per part, 1 where it has it."""

    def __init__(self, names: pl.Series) -> None:
        """Split the names into words, and the words into beginnings, endings and n-grams."""
        split = fold_names(names).str.split(" ")
        table = split.to_frame("part").with_row_index("row").explode("part").unique()
        words = table.select("part").unique().with_row_index("column")
        self.words = mark_parts(table, words, len(names))
        last = pl.DataFrame({"row": np.arange(len(names), dtype=np.uint32), "part": split.list.last()})
        self.last = mark_parts(last, words, len(names))
        cut = words.rename({"column": "row", "part": "word"})
        self.grams = self._select_parts(cut_grams(cut, GRAM_LENGTHS), cut.height)
        self.beginnings = self._select_parts(_cut_affixes(cut, lambda word, n: word.str.head(n)), cut.height)
        self.endings = self._select_parts(_cut_affixes(cut, lambda word, n: word.str.tail(n)), cut.height)

    def _select_parts(self, of_words: pl.DataFrame, n_words: int) -> "csr_array":
        """Return the parts of the names from those of their words.

        Args:
            of_words: the columns row, which is the column of a word, and part; not necessarily distinct.
        """
        distinct = of_words.unique()
        columns = distinct.select("part").unique().with_row_index("column")
        parts = self.words @ mark_parts(distinct, columns, n_words)
        parts.data[:] = 1
        return parts

    def compare_heads(self, heads: Rows, own: Rows, tails: Rows) -> tuple[Matrix, Matrix]:
        """Return how the tails of some facts resemble all heads of a block, and their own heads.

        Args:
            heads: the heads of the block, as rows of the names.
            own: the head of each fact, as a position in ``heads``.
            tails: the tail of each fact, as a row of the names.

        Returns:
            Two matrices with one row per fact and one column per head of the block, each a weighted sum over
            the features: how much the tail resembles the head, and how much this differs from its own head.
        """
        rows, position = np.unique(tails, return_inverse=True)
        alike = np.zeros((len(rows), len(heads)), np.int32)
        difference = np.zeros((len(own), len(heads)), np.int32)
        for weight, values in self._iterate_features(rows, heads):
            alike += weight * values
            of_facts = values[position]
            of_facts -= values[position, own][:, None]
            np.abs(of_facts, out=of_facts)
            of_facts *= weight
            difference += of_facts
        return alike[position], difference

    def _iterate_features(self, tails: Rows, heads: Rows) -> Iterator[tuple[int, Matrix]]:
        """Yield weight and values of each feature: one row per tail, one column per head."""
        shared, of_tails, of_heads = count_shared(self.words, tails, heads)
        yield 40, shared
        yield 2, SHARE * shared // of_tails
        yield 1, SHARE * shared // of_heads
        yield 40, count_shared(self.last, tails, heads)[0]
        shared, of_tails, of_heads = count_shared(self.grams, tails, heads)
        yield 4, SHARE * shared // of_tails
        yield 4, SHARE * shared // of_heads
        yield 10, np.minimum(count_shared(self.beginnings, tails, heads)[0], LONGEST)
        yield 4, np.minimum(count_shared(self.endings, tails, heads)[0], LONGEST)


def mark_parts(table: pl.DataFrame, columns: pl.DataFrame, n_rows: int) -> "csr_array":
    """Return one row per name and one column per part: 1 where the table has the name and the part.

    The order of the columns does not matter, because parts are only counted.

    Args:
        table: distinct pairs of row and part.
        columns: part -> column.
    """
    # The import takes 0.3 s, and most commands draw nothing.
    from scipy.sparse import csr_array

    marked = table.join(columns, on="part")
    places = marked["row"].to_numpy().astype(np.int32), marked["column"].to_numpy().astype(np.int32)
    ones = np.ones(marked.height, np.int32)
    return csr_array((ones, places), shape=(n_rows, max(columns.height, 1)))


def count_shared(parts: "csr_array", ones: Rows, others: Rows) -> tuple[Matrix, Matrix, Matrix]:
    """Return how many parts some names (rows) share with others (columns), and how many each of both has.

    A name without parts counts as having one, so that the numbers can be divided by it.
    """
    of_ones, of_others = parts[ones], parts[others]
    shared: Matrix = (of_ones @ of_others.T).toarray()
    n_of_ones, n_of_others = (np.maximum(np.diff(parts_of.indptr), 1) for parts_of in (of_ones, of_others))
    return shared, n_of_ones[:, None], n_of_others[None, :]


def _cut_affixes(words: pl.DataFrame, cut: Callable[[pl.Expr, int], pl.Expr]) -> pl.DataFrame:
    """Return the beginnings or endings of words, as the columns row and part.

    Args:
        words: the columns row and word.
        cut: returns so many characters of one end of the words.
    """
    lengths = ((length, words.filter(pl.col("word").str.len_chars() >= length)) for length in AFFIX_LENGTHS)
    return pl.concat(
        long_words.select("row", part=cut(pl.col("word"), length)) for length, long_words in lengths
    )


def cut_grams(words: pl.DataFrame, lengths: Sequence[int]) -> pl.DataFrame:
    """Return the n-grams of words between two spaces, as the columns row and part."""
    padded = words.select("row", word=" " + pl.col("word") + " ", n=pl.col("word").str.len_chars() + 2)
    cut = [
        padded.filter(pl.col("n") >= length)
        .with_columns(start=pl.int_ranges(pl.col("n") - (length - 1)))
        .explode("start")
        .select("row", part=pl.col("word").str.slice("start", length))
        for length in lengths
    ]
    return pl.concat(cut)
