"""After how many editions of a series texts about true facts have to repeat."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tasks.edition.edition import Edition


@dataclass(frozen=True)
class TextSupply:
    """For how long some heads have new texts."""

    n_editions: int
    """After so many editions of a series, every text about a true fact of these heads has been used."""
    head_share: float
    """The share of all heads, from 0 to 1, for which the texts last at most so long."""


def count_text_supply(edition: Edition) -> tuple[TextSupply, ...]:
    """Return for how long the texts last, by increasing number of editions.

    A head has as many texts of a form as its tails times the wordings of the form. Empty unless the wordings
    are those of the pool.
    """
    if not edition.has_triplets or edition.config.rephraser.kind != "reviewed":
        return ()
    counts: Counter[int] = Counter()
    for relation in edition.base.relations:
        n_wordings = min(len(cell.wordings) for cell in edition.pool.relations[relation].cells.values())
        facts = edition.base.select_relation(relation).filter(~pl.col("also_true"))
        n_tails = facts.group_by("head").agg(pl.col("tail").n_unique())["tail"]
        counts.update(n * n_wordings for n in n_tails)
    supply, n_exhausted = [], 0
    for n_editions, n_heads in sorted(counts.items()):
        n_exhausted += n_heads
        supply.append(TextSupply(n_editions, n_exhausted / counts.total()))
    return tuple(supply)


def render_text_supply(supply: Sequence[TextSupply]) -> str:
    """Return a sentence: when the first texts have to repeat, and when those of half of the heads."""
    half = next(each for each in supply if each.head_share >= 0.5)
    return (
        f"new texts in a series of editions: all texts about the true facts of {supply[0].head_share:.0%} of "
        f"the heads have been used after {supply[0].n_editions:,} editions, and those of "
        f"{half.head_share:.0%} of the heads after {half.n_editions:,}"
    )
