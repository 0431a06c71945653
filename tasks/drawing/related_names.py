"""Names that generalise others by their words: "Carcinoma" generalises "Squamous Cell Carcinoma".

A generalisation of a true tail is true as well, so it must not be a negative. The rule looks at words alone.
It finds too much rather than too little: "Lung" counts as a generalisation of "Lung Carcinoma".
"""

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.names import fold_names
from tasks.drawing.name_features import Rows, mark_parts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Words that say nothing about what a name means.
STOP_WORDS = frozenset(
    {"a", "an", "and", "at", "by", "due", "for", "from", "in", "nos", "of", "on", "or", "the", "to", "with"}
    | {"unspecified"}
)
# These change the meaning of the word after them: "Non-Small Cell" is not a kind of "Small Cell".
NEGATING_WORDS = frozenset({"no", "non", "not", "without"})
PAIRS_AT_ONCE = 1_000_000


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

    def list_general(self, names: Rows, others: Rows) -> tuple[Rows, Rows]:
        """Return the pairs of a name and another one that generalises or equals it, as positions in both.

        Some pairs come twice.
        """
        of_names, of_others = self._words[names], self._words[others]
        n_names = np.bincount(of_names.indices, minlength=self._words.shape[1])
        # A name that has all words of the other has the rarest of them: few names do.
        n_words = np.diff(of_others.indptr)
        has_words = np.flatnonzero(n_words)
        order = np.lexsort((n_names[of_others.indices], np.repeat(np.arange(len(others)), n_words)))
        rarest = of_others.indices[order][of_others.indptr[has_words]]
        with_rarest = of_names.T.tocsr()[rarest]
        name = with_rarest.indices
        other = np.repeat(has_words, np.diff(with_rarest.indptr))
        is_general = [
            _count_common(of_names, of_others, name[part], other[part]) == n_words[other[part]]
            for part in (slice(start, start + PAIRS_AT_ONCE) for start in range(0, len(name), PAIRS_AT_ONCE))
        ]
        kept = np.concatenate(is_general) if is_general else np.zeros(0, bool)
        ends = zip(("name", "other"), (names, others), strict=True)
        one, two = (
            pl.DataFrame({end: np.arange(len(rows)), "letters": self._letters[rows]}) for end, rows in ends
        )
        same = one.join(two, on="letters")
        return (
            np.concatenate([name[kept], same["name"].to_numpy()]).astype(np.int64),
            np.concatenate([other[kept], same["other"].to_numpy()]).astype(np.int64),
        )


def _count_common(ones: "csr_array", others: "csr_array", rows: Rows, other_rows: Rows) -> NDArray[np.int64]:
    """Return how many words the names of each pair of rows have in common."""
    common: NDArray[np.int64] = np.asarray(ones[rows].multiply(others[other_rows]).sum(axis=1)).ravel()
    return common


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
    for word in folded.replace("not otherwise specified", " ").split():
        if word in NEGATING_WORDS:
            prefix += word + " "
        elif word not in STOP_WORDS:
            words.add(prefix + _remove_plural(word))
            prefix = ""
    return words


def _remove_plural(word: str) -> str:
    """Return a folded word without the ending of a plural."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if re.search("(ss|x|ch|sh)es$", word) else word[:-1]
