"""Names that a model knows nothing about, so that it learns to answer False about unknown names.

Without these strangers a model makes informed guesses about unseen heads: a tail that was false of every head
it learned may be true of the others. Such a model was right on 55 % of the unseen heads.
"""

from collections import defaultdict
from dataclasses import dataclass
from random import Random

import polars as pl

from knowledge.base import KnowledgeBase
from primitives.hashing import hash_text

# Every training step draws new embeddings for them (Student.redraw_strangers).
STRANGERS = tuple(f"Stranger {n}" for n in range(1, 49))
# The share of known heads that get a further triplet, with strangers in it.
SHARE_STRANGERS = 0.5

Unit = tuple[str, str]
"""(relation, head): a model knows all of a unit or nothing of it."""


@dataclass(frozen=True)
class Strangers:
    """Draws names that take the place of an unknown head or tail."""

    foreign: dict[str, tuple[str, ...]]
    """Relation -> names that the model learns, but that are no heads of this relation."""

    def replace_names(self, relation: str, head: str, tail: str, random: Random) -> tuple[str, str]:
        """Return head and tail with a stranger in place of the head, of the tail, or of both."""
        draw = random.random()
        if draw < 0.15:
            return head, random.choice(STRANGERS)
        return self._draw_head(relation, random), random.choice(STRANGERS) if draw < 0.3 else tail

    def copy_triplets(self, relation: str, triplets: pl.DataFrame, random: Random) -> pl.DataFrame:
        """Return copies of some of the triplets with strangers in them, all of them false."""
        is_chosen = [random.random() < SHARE_STRANGERS / 2 for _ in range(triplets.height)]
        chosen = triplets.filter(pl.Series(is_chosen, dtype=pl.Boolean))
        names = [
            self.replace_names(relation, head, tail, random)
            for head, tail in chosen.select("head", "tail").iter_rows()
        ]
        ids = [hash_text("stranger", triplet_id) for triplet_id in chosen["triplet_id"]]
        return chosen.with_columns(
            pl.Series("triplet_id", ids, pl.String),
            pl.Series("head", [head for head, _ in names], pl.String),
            pl.Series("tail", [tail for _, tail in names], pl.String),
            pl.lit(False).alias("is_positive"),
        )

    def _draw_head(self, relation: str, random: Random) -> str:
        foreign = self.foreign[relation]
        return random.choice(foreign if foreign and random.random() < 0.5 else STRANGERS)


def find_strangers(base: KnowledgeBase, known: frozenset[Unit]) -> Strangers:
    """Return the strangers of each relation for a model that knows these units."""
    heads: dict[str, set[str]] = defaultdict(set)
    taught: set[str] = set()
    for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
        heads[relation].add(head)
        if (relation, head) in known:
            taught |= {head, tail}
    return Strangers({relation: tuple(sorted(taught - heads[relation])) for relation in heads})


def list_never_met(base: KnowledgeBase, known: frozenset[Unit], demonstrating: set[Unit]) -> list[str]:
    """Return the names in no lesson: unseen heads that demonstrate nothing and are nowhere a tail."""
    met = {head for _, head in known | demonstrating} | set(base.triplets["tail"])
    return sorted(set(base.triplets["head"]) - met)
