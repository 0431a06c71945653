"""What balanced negatives cost a relation, and whether they could be balanced: figures for the manifest."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl

from knowledge.base import fold_name
from tasks.edition.candidates import collect_candidates
from tasks.edition.related_names import exclude_related

# A guesser that knows the tail and the class of resemblance is right on at most 50 % of the triplets plus
# half of this share. The trained guessers of benchmarks/guessers.py know more: on MedLAMA they are right on
# 55 to 74 % in the relations above the limit, and on at most 54 % in those below it.
MAX_UNMATCHED_SHARE = 0.1
GRAM_LENGTH = 3
STEM_LENGTH = 5
MAX_WORDS = 2


@dataclass(frozen=True)
class BalanceReport:
    """Counts of one relation. A pair is a true and a false test triplet of one head."""

    n_pairs: int
    n_candidates: int
    """Combinations of a head and a tail of the relation that the base does not state."""
    n_related: int
    """Those of them that were excluded: by its words, the tail generalises or specialises a true one."""
    n_true_sharing: int
    """True test triplets whose head and tail share a word."""
    n_false_sharing: int
    """False test triplets whose head and tail share a word."""
    n_unmatched: int
    """True test triplets without a false one of the same tail and the same class of resemblance."""
    n_asserted: int
    """False test triplets that the base asserts to be false."""

    @property
    def is_balanced(self) -> bool:
        """Whether few triplets are unmatched. If not, the facts of the base leave no better choice."""
        return self.n_unmatched <= MAX_UNMATCHED_SHARE * self.n_pairs

    def describe(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return {**vars(self), "is_balanced": self.is_balanced}


def report_balance(
    relation: str, rows: pl.DataFrame, triplets: pl.DataFrame, also_false: pl.DataFrame | None = None
) -> BalanceReport:
    """Return the counts of one relation.

    Args:
        rows: the relation's rows of the knowledge base.
        triplets: the relation's triplets of the edition.
        also_false: the relation's triplets that the base asserts to be false, if there are any.
    """
    candidates = collect_candidates(relation, rows, also_false)
    n_allowed, n_unrelated = (
        sum(len(found.pool) - len(head.excluded) for head in found.heads)
        for found in (candidates, exclude_related(candidates))
    )
    tested = triplets.filter(pl.col("split") == "test")
    classes: dict[bool, Counter[tuple[str, tuple[int, ...]]]] = {True: Counter(), False: Counter()}
    n_sharing = {True: 0, False: 0}
    for head, tail, is_positive in tested.select("head", "tail", "is_positive").iter_rows():
        resemblance = _classify_resemblance(head, tail)
        classes[is_positive][tail, resemblance] += 1
        n_sharing[is_positive] += resemblance[0] > 0
    return BalanceReport(
        n_pairs=tested.height // 2,
        n_candidates=n_allowed,
        n_related=n_allowed - n_unrelated,
        n_true_sharing=n_sharing[True],
        n_false_sharing=n_sharing[False],
        n_unmatched=(classes[True] - classes[False]).total(),
        n_asserted=tested.filter("is_asserted").height,
    )


def _classify_resemblance(head: str, tail: str) -> tuple[int, int, int]:
    """Return shared words (at most 2), a shared beginning of words (0 or 1), sixths of shared trigrams."""
    of_head, of_tail = fold_name(head), fold_name(tail)
    words = [set(name.split()) for name in (of_head, of_tail)]
    stems = [{word[:STEM_LENGTH] for word in found if len(word) >= STEM_LENGTH} for found in words]
    grams = [
        {name[i : i + GRAM_LENGTH] for i in range(len(name) - GRAM_LENGTH + 1)}
        for name in (f" {of_head} ", f" {of_tail} ")
    ]
    n_grams = 6 * len(grams[0] & grams[1]) // max(len(grams[1]), 1)
    return min(len(words[0] & words[1]), MAX_WORDS), int(bool(stems[0] & stems[1])), n_grams
