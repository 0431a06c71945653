"""Names that generalise or specialise each other by their words: "Carcinoma" and "Squamous Cell Carcinoma".

Whether a generalisation or a specialisation of a true tail is true as well is uncertain, so it should not be
a negative. The rule looks at words alone. It rather excludes too much: "Lung" and "Lung Carcinoma" count as
related.
"""

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.names import fold_names
from tasks.drawing.name_features import Rows, mark_parts

# Words that say nothing about what a name means.
STOP_WORDS = frozenset(
    {"a", "an", "and", "at", "by", "due", "for", "from", "in", "nos", "of", "on", "or", "the", "to", "with"}
    | {"unspecified"}
)
# These change the meaning of the word after them: "Non-Small Cell" is not a kind of "Small Cell".
NEGATING_WORDS = frozenset({"no", "non", "not", "without"})
NOT_SPECIFIED = "not otherwise specified"
MIN_PLURAL = 4


class RelatedNames:
    """The words of some names without stop words and plural endings, and their letters.

    Of two names, one generalises the other if all its words are among the words of the other. Names with the
    same words are related too, and so are names with the same letters: "T-Lymphocyte" and "TLymphocyte".
    """

    def __init__(self, names: pl.Series) -> None:
        """Reduce the names."""
        folded = fold_names(names)
        self._letters = folded.str.replace_all(" ", "", literal=True).rank("dense").to_numpy()
        table = _list_words(folded)
        self._words = mark_parts(table, table.select("part").unique().with_row_index("column"), len(names))

    def list_pairs(self, tails: Rows, names: Rows) -> tuple[Rows, Rows]:
        """Return the pairs of a tail and a name that are related, as positions in both; some come twice."""
        of_tails, of_names = self._words[tails], self._words[names]
        shared = (of_tails @ of_names.T).tocoo()
        n_of_tails, n_of_names = np.diff(of_tails.indptr), np.diff(of_names.indptr)
        is_subset = (shared.data == n_of_tails[shared.row]) | (shared.data == n_of_names[shared.col])
        ends = zip(("tail", "name"), (tails, names), strict=True)
        one, other = (
            pl.DataFrame({end: np.arange(len(rows)), "letters": self._letters[rows]}) for end, rows in ends
        )
        same = one.join(other, on="letters")
        return (
            np.concatenate([shared.row[is_subset], same["tail"].to_numpy()]),
            np.concatenate([shared.col[is_subset], same["name"].to_numpy()]),
        )

    def find(self, tails: Rows, names: Rows) -> NDArray[np.bool_]:
        """Return one row per tail and one column per name: whether one generalises or equals the other."""
        related = np.zeros((len(tails), len(names)), bool)
        related[self.list_pairs(tails, names)] = True
        return related


def _list_words(folded: pl.Series) -> pl.DataFrame:
    """Return the distinct words of each folded name, as the columns row and part."""
    words = folded.str.split(" ").to_frame("part").with_row_index("row").explode("part")
    # Few names have a negating word, which forms one word with the next one.
    slow = words.filter(pl.col("part").is_in(NEGATING_WORDS)).select("row").unique()
    kept = words.join(slow, on="row", how="anti").filter(~pl.col("part").is_in(["", *STOP_WORDS]))
    plurals = kept["part"].filter(kept["part"].str.ends_with("s")).unique()
    singular = {word: _remove_plural(word) for word in plurals}
    reduced = [(row, word) for row in slow["row"] for word in _join_negating(folded[row])]
    return pl.concat(
        [
            kept.with_columns(pl.col("part").replace(singular)).unique(),
            pl.DataFrame(reduced, schema=kept.schema, orient="row"),
        ]
    )


def _join_negating(folded: str) -> set[str]:
    """Return the words of a name in which a negating word forms one word with the next one."""
    words, prefix = set(), ""
    for word in folded.replace(NOT_SPECIFIED, " ").split():
        if word in NEGATING_WORDS:
            prefix += word + " "
        elif word not in STOP_WORDS:
            words.add(prefix + _remove_plural(word))
            prefix = ""
    return words


def _remove_plural(word: str) -> str:
    """Return a folded word without the ending of a plural."""
    if len(word) < MIN_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if re.search("(ss|x|ch|sh)es$", word) else word[:-1]
