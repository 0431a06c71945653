"""Whether negatives of an edition of format 2 could be balanced: figures for the manifest."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.process import map_in_threads
from tasks.drawing.name_features import NameFeatures
from tasks.drawing.name_overlap import MAX_WORDS, SIXTHS, STEM_LENGTH
from tasks.edition.balance_report import MAX_UNMATCHED_SHARE

CLASS = ("words", "has_stem", "sixths")


def describe_balance(pieces: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the counts of one relation as JSON: those of `BalanceReport` that each piece gives by itself.

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
