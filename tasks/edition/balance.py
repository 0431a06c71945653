"""Figures for the manifest that say how well the negatives of a relation could be balanced."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.threads import map_in_threads
from tasks.drawing.name_features import NameFeatures

# A guesser that knows the tail and the class of resemblance is right on at most 50 % of the triplets plus
# half of this share. The trained guessers of benchmarks/guessers.py know more: on MedLAMA they are right on
# 55 to 74 % in the relations above the limit, and on at most 54 % in those below it.
MAX_UNMATCHED_SHARE = 0.1
CLASS = ("words", "has_stem", "sixths")
"""Pairs are of one class if they are alike in three counts: shared words (at most MAX_WORDS), whether words
begin with the same STEM_LENGTH letters, and sixths of the tail's n-grams that the head has too."""
MAX_WORDS = 2
STEM_LENGTH = 5
SIXTHS = 6


def describe_balance(pieces: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the counts of one relation as JSON.

    n_pairs: pairs of a true and a false test triplet. n_true_sharing, n_false_sharing: true and false test
    triplets whose head and tail share a word. n_unmatched: true test triplets without a false one of the same
    tail and the same class of resemblance in their piece. n_asserted: false test triplets that the base
    asserts. is_balanced: whether few triplets are unmatched.

    Args:
        pieces: the triplets of each piece of the relation.
    """
    names = ("n_pairs", "n_true_sharing", "n_false_sharing", "n_unmatched", "n_asserted")
    counts = np.zeros(len(names), np.int64)
    for counted in map_in_threads(_count, pieces):
        counts += counted
    found = dict(zip(names, counts.tolist(), strict=True))
    return found | {"is_balanced": found["n_unmatched"] <= MAX_UNMATCHED_SHARE * found["n_pairs"]}


def _count(triplets: pl.DataFrame) -> NDArray[np.int64]:
    tested = triplets.filter(split="test")
    classes = tested.select("tail", "is_positive", "is_asserted").with_columns(_classify(tested))
    is_sharing = pl.col("words") > 0
    of_class = classes.group_by("tail", *CLASS).agg(n=(pl.col("is_positive").cast(pl.Int64) * 2 - 1).sum())
    return np.array(
        [
            classes["is_positive"].sum(),
            classes.filter(is_sharing & pl.col("is_positive")).height,
            classes.filter(is_sharing & ~pl.col("is_positive")).height,
            of_class.filter(pl.col("n") > 0)["n"].sum(),
            classes["is_asserted"].fill_null(value=False).sum(),
        ]
    )


def _classify(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the coarse class of the resemblance of head and tail, as the columns of CLASS."""
    names = pl.concat([pairs["head"], pairs["tail"]]).unique().sort()
    features = NameFeatures(names)
    heads, tails = (names.search_sorted(pairs[end]).to_numpy() for end in ("head", "tail"))
    words, stems, grams = (
        (parts[heads] * parts[tails]).sum(axis=1)
        for parts in (features.words, features.beginnings, features.grams)
    )
    n_grams = np.maximum(np.diff(features.grams[tails].indptr), 1)
    # A beginning of five letters is the fourth that two words share, as the shortest has two.
    has_stem = stems >= STEM_LENGTH - 1
    values = (np.minimum(words, MAX_WORDS), has_stem, SIXTHS * grams // n_grams)
    return pl.DataFrame(dict(zip(CLASS, values, strict=True)))
