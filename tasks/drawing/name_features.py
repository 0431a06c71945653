"""How much many heads and tails resemble each other by their letters: the features of editions of format 2.

The features are those of `name_overlap` with two differences, which make them several times as fast: parts
of names are parts of their words, so that each distinct word is cut only once, and parts of all lengths are
counted together. Counts are whole numbers, which are the same on every machine.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from knowledge.name_keys import fold_names
from tasks.drawing.name_overlap import AFFIX_LENGTHS, GRAM_LENGTHS, SHARE, Matrix, add_differences

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rows = NDArray[np.int64]
LONGEST = len(AFFIX_LENGTHS)


class NameFeatures:
    """The parts of some names: one row per name in each matrix, one column per part, 1 where it has it."""

    def __init__(self, names: pl.Series) -> None:
        """Split the names into words, and the words into beginnings, endings and n-grams."""
        split = fold_names(names).str.split(" ")
        table = split.to_frame("word").with_row_index("row").explode("word").unique()
        words = table["word"].unique().sort()
        self.words = count_parts(table, words, len(names))
        last = pl.DataFrame({"row": np.arange(len(names), dtype=np.uint32), "word": split.list.last()})
        self.last = count_parts(last, words, len(names))
        self.grams = self._select_parts(words, _list_grams)
        self.beginnings = self._select_parts(words, _list_beginnings)
        self.endings = self._select_parts(words, _list_endings)

    def _select_parts(self, words: pl.Series, parts: Callable[[str], Iterable[str]]) -> "csr_array":
        from scipy.sparse import csr_array

        sets = [sorted(set(parts(word))) for word in words]
        column_of = {part: column for column, part in enumerate(sorted(set().union(*sets)))}
        ends = np.cumsum([0, *map(len, sets)])
        columns = np.array([column_of[part] for found in sets for part in found], np.int32)
        shape = (len(sets), max(len(column_of), 1))
        found = self.words @ csr_array((np.ones(len(columns), np.int32), columns, ends), shape=shape)
        found.data[:] = 1
        return found

    def compare_heads(self, heads: Rows, own: Rows, tails: Rows) -> Matrix:
        """Return how differently the tails of some facts resemble their own heads and all heads of a block.

        Args:
            heads: the heads of the block, as rows of the names.
            own: the head of each fact, as a position in ``heads``.
            tails: the tail of each fact, as a row of the names.

        Returns:
            One row per fact, one column per head of the block: the sum of the weighted differences.
        """
        rows, position = np.unique(tails, return_inverse=True)
        return add_differences(self._iterate_features(rows, heads), position, own, len(heads))

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


def count_parts(table: pl.DataFrame, words: pl.Series, n_rows: int) -> "csr_array":
    """Return one row per name and one column per word: 1 where the table has the row and the word.

    Args:
        table: distinct pairs of row and word.
        words: the words in the order of the columns, sorted.
    """
    # The import takes 0.3 s, and most commands draw nothing.
    from scipy.sparse import csr_array

    columns = words.search_sorted(table["word"]).to_numpy().astype(np.int32)
    ones = np.ones(table.height, np.int32)
    return csr_array((ones, (table["row"].to_numpy(), columns)), shape=(n_rows, max(len(words), 1)))


def count_shared(parts: "csr_array", ones: Rows, others: Rows) -> tuple[Matrix, Matrix, Matrix]:
    """Return how many parts some names (rows) share with others (columns), and how many each of both has.

    A name without parts counts as having one, so that the numbers can be divided by it.
    """
    of_ones, of_others = parts[ones], parts[others]
    shared: Matrix = (of_ones @ of_others.T).toarray()
    n_of_ones, n_of_others = (np.maximum(np.diff(found.indptr), 1) for found in (of_ones, of_others))
    return shared, n_of_ones[:, None], n_of_others[None, :]


def _list_beginnings(word: str) -> list[str]:
    return [word[:length] for length in AFFIX_LENGTHS if len(word) >= length]


def _list_endings(word: str) -> list[str]:
    return [word[-length:] for length in AFFIX_LENGTHS if len(word) >= length]


def _list_grams(word: str) -> list[str]:
    padded = f" {word} "
    return [padded[i : i + n] for n in GRAM_LENGTHS for i in range(len(padded) - n + 1)]
