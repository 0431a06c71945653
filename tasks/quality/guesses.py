"""Stage guesses: what the overlap guesser says of the test triplets of an edition."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from pretexeval.knowledge.names import fold_name
from pretexeval.primitives.hashing import hash_text
from pretexeval.primitives.mixing import combine, hash_column
from pretexeval.storage.layout import guesses_file, guesses_record
from schemas.stages import GUESSERS, GUESSES, TRIPLETS
from tasks.quality.measured_file import Measurement, provide_measured_file

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


BUILD_FEATURES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
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
    features = BUILD_FEATURES[guesser](rows)
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


GUESSES_VERSION = 1
"""Count it up when the function `guess_triplets` gives other rows for the same triplets."""
MAX_HEADS = 10_000
"""Heads of a relation of which one guesser knows. MedLAMA has 1,000 in each."""


def describe_guesses() -> Measurement:
    """Return what is measured, and on what."""
    dependencies = {"version": str(GUESSES_VERSION), "trees": version("scikit-learn")}
    return Measurement(GUESSES, (TRIPLETS,), dependencies, guess_triplets)


def write_guesses(root: Path, edition_id: str) -> Path:
    """Write `guesses/<edition_id>.parquet`, unless it is up to date, and return its path.

    Raises:
        InputError: the edition is not complete.
    """
    measurement = describe_guesses()
    files = (guesses_file(edition_id), guesses_record(edition_id))
    return provide_measured_file(root, edition_id, measurement, *files)


def guess_triplets(triplets: pl.DataFrame, max_heads: int = MAX_HEADS) -> pl.DataFrame:
    """Return one row per test triplet and guesser; columns as in the stage guesses.

    A relation with more than ``max_heads`` heads is divided at random into parts, and the guessers of a part
    know nothing of the others. This bounds the memory.
    """
    tested = triplets.filter(pl.col("split") == "test").sort("relation", "triplet_id")
    guessed = [
        part.select(
            "triplet_id",
            "relation",
            pl.lit(guesser).alias("guesser"),
            guess_truth(guesser, str(relation), part).alias("guess"),
        )
        for (relation,), frame in tested.group_by("relation", maintain_order=True)
        for guesser in GUESSERS
        for part in _divide(str(relation), frame, max_heads)
    ]
    empty = pl.DataFrame(GUESSES.schema.empty_table())
    return pl.concat([empty, *guessed])


def _divide(relation: str, triplets: pl.DataFrame, max_heads: int) -> Iterator[pl.DataFrame]:
    """Yield the triplets of the parts of one relation. All triplets of a head are in the same part."""
    n_parts = -(-triplets["head"].n_unique() // max_heads)
    if n_parts == 1:
        yield triplets
        return
    number = pl.Series(combine("guesses", relation, hash_column(triplets["head"])) % np.uint64(n_parts))
    for part in range(n_parts):
        yield triplets.filter(number == part)
