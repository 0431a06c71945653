"""Stage guesses: what guessers say of the test triplets of an edition.

The overlap guesser looks at the names of head and tail only. The guesser `neighbour` knows the other facts of
the base: it looks at how likely they make the triplet, which is knowledge of the base and no shortcut.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from pretexeval.knowledge.names import fold_name
from pretexeval.primitives.hashing import hash_text
from pretexeval.primitives.mixing import combine, hash_column
from schemas.stages import GUESSES

STEM_LENGTHS = (3, 4, 5, 6)
GRAM_LENGTHS = (2, 3, 4)
MIN_ACRONYM = 2


@dataclass(frozen=True)
class ComparedName:
    """A name with its parts, computed once: a name occurs in many pairs."""

    text: str

    @cached_property
    def folded(self) -> str:
        """The name without case, punctuation and extra white space."""
        return fold_name(self.text)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the folded name, in order."""
        return tuple(self.folded.split())

    @cached_property
    def initials(self) -> str:
        """The first letters of the words."""
        return "".join(word[0] for word in self.words)

    @cached_property
    def stems(self) -> dict[int, frozenset[str]]:
        """Length -> the beginnings of that length of all words that are at least as long."""
        return {n: frozenset(word[:n] for word in self.words if len(word) >= n) for n in STEM_LENGTHS}

    @cached_property
    def grams(self) -> dict[int, frozenset[str]]:
        """Length -> the character n-grams of that length, with white space as a character."""
        padded = f" {self.folded} "
        return {n: frozenset(padded[i : i + n] for i in range(len(padded) - n + 1)) for n in GRAM_LENGTHS}


def weigh_words(names: Iterable[ComparedName]) -> dict[str, float]:
    """Return word -> its rarity: the logarithm of one over the share of the names that have the word."""
    distinct = list(names)
    counts = Counter(word for name in distinct for word in set(name.words))
    return {word: math.log(len(distinct) / n) for word, n in counts.items()}


def describe_resemblance(
    head: ComparedName, tail: ComparedName, rarity: dict[str, float]
) -> dict[str, float]:
    """Return feature -> value for two names; all pairs of names have the same features in the same order.

    Args:
        rarity: word -> weight, as `weigh_words` returns it.
    """
    return {
        **_compare_words(head, tail, rarity),
        **_compare_places(head, tail),
        **_compare_letters(head, tail),
    }


def _compare_words(head: ComparedName, tail: ComparedName, rarity: dict[str, float]) -> dict[str, float]:
    """Return how many words the names share, plain and weighted by rarity, and how many word stems."""
    in_head, in_tail = set(head.words), set(tail.words)
    weights = sorted(rarity[word] for word in in_head & in_tail)
    return {
        "n_shared": len(weights),
        "quarters_of_head": _count_quarters(len(weights), len(in_head)),
        "quarters_of_tail": _count_quarters(len(weights), len(in_tail)),
        "weight_shared": sum(weights),
        "largest_weight": max(weights, default=0.0),
        "smallest_weight": min(weights, default=0.0),
        **{f"n_stems_{n}": len(head.stems[n] & tail.stems[n]) for n in STEM_LENGTHS},
    }


def _compare_places(head: ComparedName, tail: ComparedName) -> dict[str, float]:
    """Return where in the names the shared words are, in which order, and whether one name is an acronym."""
    shared = set(head.words) & set(tail.words)
    return {
        "is_first_same": head.words[:1] == tail.words[:1],
        "is_last_same": head.words[-1:] == tail.words[-1:],
        "is_first_of_head_shared": not shared.isdisjoint(head.words[:1]),
        "is_last_of_head_shared": not shared.isdisjoint(head.words[-1:]),
        "is_first_of_tail_shared": not shared.isdisjoint(tail.words[:1]),
        "is_last_of_tail_shared": not shared.isdisjoint(tail.words[-1:]),
        "n_leading_words": _count_leading(head.words, tail.words),
        "n_symbols_shared": sum(word.isdigit() or len(word) == 1 for word in shared),
        "is_tail_in_head": tail.folded in head.folded,
        "is_head_in_tail": head.folded in tail.folded,
        "is_tail_acronym": len(tail.initials) >= MIN_ACRONYM and tail.initials in head.words,
        "is_head_acronym": len(head.initials) >= MIN_ACRONYM and head.initials in tail.words,
        "is_initials_same": head.initials == tail.initials,
    }


def _compare_letters(head: ComparedName, tail: ComparedName) -> dict[str, float]:
    """Return how many n-grams the names share, and their longest common substring, prefix and suffix."""
    words = [(a, b) for a in set(head.words) for b in set(tail.words) if a != b]
    return {
        **{f"n_grams_{n}": len(head.grams[n] & tail.grams[n]) for n in GRAM_LENGTHS},
        "longest_substring": _measure_common(head.folded, tail.folded),
        "longest_prefix_of_words": max((_count_leading(a, b) for a, b in words), default=0),
        "longest_suffix_of_words": max((_count_leading(a[::-1], b[::-1]) for a, b in words), default=0),
        "n_trailing_letters": _count_leading(head.folded[::-1], tail.folded[::-1]),
    }


def _count_quarters(part: int, whole: int) -> int:
    """Return how many full quarters of the whole the part is: 0 to 4."""
    return 4 * part // whole if whole else 0


def _measure_common(a: str, b: str) -> int:
    """Return the length of the longest common substring."""
    longest, start = 0, 0
    for end in range(1, len(a) + 1):
        while a[start:end] not in b:
            start += 1
        longest = max(longest, end - start)
    return longest


def _count_leading(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many items at the beginning are the same."""
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


N_FOLDS = 5
# More or larger trees gain nothing: 66.0 % on MedLAMA, as with 60 trees of 8 leaves at a rate of 0.1.
N_TREES = 30
LEARNING_RATE = 0.2
N_LEAVES = 6
MIN_ROWS_PER_LEAF = 20
"""The least rows of a leaf, of a relation with at least 400 rows to train on; fewer in a smaller one."""


def describe_overlap(triplets: pl.DataFrame) -> pl.DataFrame:
    """Return one row per triplet of one relation: how its head and its tail resemble each other."""
    pairs = triplets.select("head", "tail").rows()
    names = {text: ComparedName(text) for pair in pairs for text in pair}
    rarity = weigh_words(names.values())
    features = (describe_resemblance(names[head], names[tail], rarity).values() for head, tail in pairs)
    return pl.DataFrame([[float(value) for value in row] for row in features], orient="row")


def describe_likelihood(triplets: pl.DataFrame) -> pl.DataFrame:
    """Return one row per triplet of one relation: how likely the other facts of the base make it."""
    return triplets.select(pl.col("likelihood").fill_null(0.0))


Describe = Callable[[pl.DataFrame], pl.DataFrame]


def guess_truth(relation: str, triplets: pl.DataFrame, describe: Describe = describe_overlap) -> pl.Series:
    """Return for each triplet of one relation, in their order, whether a guesser believes it.

    It is trained on the triplets of other heads. The guesses do not depend on the order of the triplets. If
    all heads are in one fold, as in a relation with a single head, there is nothing to train on, and every
    triplet is guessed false.

    Args:
        triplets: head, tail, is_positive and what the guesser looks at of the test triplets.
        describe: returns what the guesser looks at, one row per triplet.
    """
    rows = triplets.with_row_index("row").sort("head", "tail", "is_positive")
    folds = [int(hash_text("fold", relation, head), 16) % N_FOLDS for head in rows["head"]]
    rows = rows.with_columns(fold=pl.Series(folds, dtype=pl.UInt8))
    features = describe(rows)
    guessed = []
    for fold in rows["fold"].unique().sort():
        is_held_out = rows["fold"] == fold
        labels = rows["is_positive"].filter(~is_held_out)
        guesses = _guess(features.filter(~is_held_out), labels, features.filter(is_held_out))
        guessed.append(rows.filter(is_held_out).select("row").with_columns(guess=guesses))
    return pl.concat(guessed).sort("row")["guess"]


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
        min_samples_leaf=max(1, min(MIN_ROWS_PER_LEAF, len(known) // 20)),
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(limits=1):
        trees.fit(known.to_numpy(), labels.to_numpy())
        return pl.Series(trees.predict(unknown.to_numpy()), dtype=pl.Boolean)


GUESSES_VERSION = 3
"""Count it up when the function `guess_triplets` gives other rows for the same triplets."""
MAX_HEADS = 10_000
"""Heads of a relation that are guessed together. MedLAMA has 1,000 in each."""


def guess_triplets(triplets: pl.DataFrame, max_heads: int = MAX_HEADS) -> pl.DataFrame:
    """Return one row per test triplet; columns as in the stage guesses.

    A relation with more than ``max_heads`` heads is divided at random into parts, of which each is
    guessed without the others. This bounds the memory.
    """
    tested = triplets.filter(pl.col("split") == "test").sort("relation", "triplet_id")
    guessed = [
        part.select(
            "triplet_id",
            "relation",
            overlap_guess=guess_truth(str(relation), part),
            neighbour_guess=guess_truth(str(relation), part, describe_likelihood),
        )
        for (relation,), frame in tested.group_by("relation", maintain_order=True)
        for part in _divide(str(relation), frame, max_heads)
    ]
    return pl.concat([GUESSES.empty, *guessed])


def _divide(relation: str, triplets: pl.DataFrame, max_heads: int) -> Iterator[pl.DataFrame]:
    """Yield the triplets of the parts of one relation. All triplets of a head are in the same part."""
    n_parts = -(-triplets["head"].n_unique() // max_heads)
    number = pl.Series(combine("guesses", relation, hash_column(triplets["head"])) % np.uint64(n_parts))
    for part in range(n_parts):
        yield triplets.filter(number == part)
