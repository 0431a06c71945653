"""Guessers without medical knowledge, trained on the triplets of a test set (method, section 4).

A guesser says of each triplet whether it is true. It was trained on the other heads of the same relation,
with their labels, so it finds what a model could exploit if it knew how the negatives were drawn:

- overlap: sees only how head and tail resemble each other (tasks/quality/resemblance.py);
- tail: sees only the tail: how often it occurs, its length, and the frequent tails and words.

Both are gradient-boosted trees (Friedman 2001; on histograms as in LightGBM, Ke et al. 2017), cross-validated
by head: both triplets of a head are in the same fold, so no guess comes from trees that saw a label of that
head. The tail guesser can be cross-validated by tail instead. Where every tail is as often true as false
(`balanced`, `matched`), it scores far below 50 % by head: without the triplet that is held out, its tail is
more often what the triplet is not. By tail it scores 50 % exactly there, as does any rule that sees only the
tail.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import polars as pl

from primitives.hashing import hash_text
from tasks.quality.resemblance import ComparedName, describe_resemblance, weigh_words

N_FOLDS = 5
N_FREQUENT = 30
"""Tails and words of tails that the tail guesser knows by name."""
# More or larger trees gain nothing: 66.0 % on MedLAMA, as with 60 trees of 8 leaves at a rate of 0.1.
N_TREES = 30
LEARNING_RATE = 0.2
N_LEAVES = 6
MAX_ROWS_PER_LEAF = 20
"""The least rows of a leaf, of a relation with at least 400 rows to train on; fewer in a smaller one."""


def describe_overlap(triplets: pl.DataFrame) -> pl.DataFrame:
    """Return one row per triplet of one relation: how its head and its tail resemble each other."""
    pairs = triplets.select("head", "tail").rows()
    names = {text: ComparedName(text) for pair in pairs for text in pair}
    rarity = weigh_words(names.values())
    rows = [list(describe_resemblance(names[head], names[tail], rarity).values()) for head, tail in pairs]
    return _build_frame(rows)


def describe_tails(triplets: pl.DataFrame) -> pl.DataFrame:
    """Return one row per triplet of one relation: frequency, length and frequent words of its tail."""
    tails = [ComparedName(text) for text in triplets["tail"]]
    counts = Counter(tail.text for tail in tails)
    frequent = _list_frequent(tail.text for tail in tails)
    words = _list_frequent(word for tail in tails for word in set(tail.words))
    rows = [
        [
            counts[tail.text],
            len(tail.folded),
            len(tail.words),
            *(tail.text == text for text in frequent),
            *(word in tail.words for word in words),
        ]
        for tail in tails
    ]
    return _build_frame(rows)


GUESSERS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "overlap": describe_overlap,
    "tail": describe_tails,
}


def guess_truth(
    guesser: str, relation: str, triplets: pl.DataFrame, fold_by: Literal["head", "tail"] = "head"
) -> pl.Series:
    """Return for each triplet of one relation, in their order, whether the guesser believes it.

    The guesses do not depend on the order of the triplets. If all heads are in one fold, as in a relation
    with a single head, there is nothing to train on, and every triplet is guessed false.

    Args:
        guesser: one of GUESSERS.
        triplets: head, tail and is_positive of the test triplets.
        fold_by: what is held out as a whole.
    """
    rows = triplets.select("head", "tail", "is_positive").with_row_index("row")
    rows = rows.sort("head", "tail", "is_positive")
    rows = rows.with_columns(fold=pl.Series(_draw_folds(relation, rows[fold_by]), dtype=pl.UInt8))
    features = GUESSERS[guesser](rows)
    guessed = []
    for fold in rows["fold"].unique().sort():
        is_held_out = rows["fold"] == fold
        labels = rows["is_positive"].filter(~is_held_out)
        guesses = _guess(features.filter(~is_held_out), labels, features.filter(is_held_out))
        guessed.append(rows.filter(is_held_out).select("row").with_columns(guess=guesses))
    return pl.concat(guessed).sort("row")["guess"]


def _draw_folds(relation: str, names: Iterable[str]) -> list[int]:
    return [int(hash_text("fold", relation, name), 16) % N_FOLDS for name in names]


def _guess(known: pl.DataFrame, labels: pl.Series, unknown: pl.DataFrame) -> pl.Series:
    """Return the guesses of trees trained on the known rows.

    One thread adds up every histogram in the same order, so the trees are the same on any number of cores.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    if labels.is_empty():
        return pl.Series([False] * len(unknown))
    trees = HistGradientBoostingClassifier(
        max_iter=N_TREES,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=N_LEAVES,
        min_samples_leaf=max(1, min(MAX_ROWS_PER_LEAF, len(known) // 20)),
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(limits=1):
        trees.fit(known.to_numpy(), labels.to_numpy())
        return pl.Series(trees.predict(unknown.to_numpy()), dtype=pl.Boolean)


def _list_frequent(items: Iterable[str]) -> list[str]:
    """Return the most frequent items; of equally frequent ones, those that sort first."""
    counts = Counter(items)
    return sorted(counts, key=lambda item: (-counts[item], item))[:N_FREQUENT]


def _build_frame(rows: Sequence[Sequence[float]]) -> pl.DataFrame:
    return pl.DataFrame([[float(value) for value in row] for row in rows], orient="row")
