"""Which of many names generalise or specialise each other by their words, as in `related_names`."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.drawing.name_features import Rows, count_parts, count_shared
from tasks.drawing.related_names import reduce_name


class RelatedWords:
    """The words of some names without stop words and plural endings, and their letters."""

    def __init__(self, names: pl.Series) -> None:
        """Reduce the names."""
        reduced = [reduce_name(name) for name in names]
        self._letters = pl.Series([r.letters for r in reduced], dtype=pl.String).rank("dense").to_numpy()
        pairs = [(row, word) for row, found in enumerate(reduced) for word in found.words]
        table = pl.DataFrame(pairs, schema={"row": pl.UInt32, "word": pl.String}, orient="row")
        self._words = count_parts(table, table["word"].unique().sort(), len(names))

    def find(self, tails: Rows, names: Rows) -> NDArray[np.bool_]:
        """Return one row per tail and one column per name: whether one generalises or equals the other."""
        shared, of_tails, of_names = count_shared(self._words, tails, names)
        is_subset = (shared > 0) & ((shared == of_tails) | (shared == of_names))
        has_same_letters: NDArray[np.bool_] = self._letters[tails][:, None] == self._letters[names][None, :]
        related: NDArray[np.bool_] = is_subset | has_same_letters
        return related
