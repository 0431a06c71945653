"""Which of many names generalise or specialise each other by their words, as in `related_names`."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from knowledge.name_keys import fold_names
from tasks.drawing.name_features import Rows, count_shared, mark_parts
from tasks.drawing.related_names import NEGATING_WORDS, STOP_WORDS, reduce_name, remove_plural


class RelatedWords:
    """The words of some names without stop words and plural endings, and their letters."""

    def __init__(self, names: pl.Series) -> None:
        """Reduce the names."""
        folded = fold_names(names)
        self._letters = folded.str.replace_all(" ", "", literal=True).rank("dense").to_numpy()
        table = _list_words(names, folded)
        self._words = mark_parts(table, table.select("part").unique().with_row_index("column"), len(names))

    def find(self, tails: Rows, names: Rows) -> NDArray[np.bool_]:
        """Return one row per tail and one column per name: whether one generalises or equals the other."""
        shared, of_tails, of_names = count_shared(self._words, tails, names)
        is_subset = (shared > 0) & ((shared == of_tails) | (shared == of_names))
        has_same_letters: NDArray[np.bool_] = self._letters[tails][:, None] == self._letters[names][None, :]
        related: NDArray[np.bool_] = is_subset | has_same_letters
        return related


def _list_words(names: pl.Series, folded: pl.Series) -> pl.DataFrame:
    """Return the distinct words of each name as `reduce_name` does, as the columns row and part."""
    words = folded.str.split(" ").to_frame("part").with_row_index("row").explode("part")
    is_negating = pl.col("part").is_in(NEGATING_WORDS)
    # Few names have a negating word, which forms one word with the next one.
    slow = words.filter(is_negating).select("row").unique()
    kept = words.join(slow, on="row", how="anti").filter(~pl.col("part").is_in(["", *STOP_WORDS]))
    plurals = kept["part"].filter(kept["part"].str.ends_with("s")).unique()
    singular = {word: remove_plural(word) for word in plurals}
    reduced = [(row, word) for row in slow["row"] for word in reduce_name(names[row]).words]
    return pl.concat(
        [
            kept.with_columns(pl.col("part").replace(singular)).unique(),
            pl.DataFrame(reduced, schema=kept.schema, orient="row"),
        ]
    )
