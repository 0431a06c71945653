"""Names of which a model knows nothing, so that it learns to say of such a name: false.

Without them a model takes the unknown for a coin, and weighs it: a tail that was false of every head
it learned may be true of the others, and it is right on 55 % of those.
"""

from collections import defaultdict
from dataclasses import dataclass
from random import Random

import polars as pl

from knowledge.base import KnowledgeBase
from primitives.hashing import hash_text

# Their embeddings are drawn anew at every step (Student.renew_strangers).
STRANGERS = tuple(f"Stranger {n}" for n in range(1, 49))
# How many of the known heads are followed by one.
SHARE_STRANGERS = 0.5

Unit = tuple[str, str]
"""(relation, head): what a model knows or does not."""


@dataclass(frozen=True)
class Strangers:
    """Who stands in for a head or a tail that is unknown."""

    foreign: dict[str, tuple[str, ...]]
    """Relation -> names that are taught, but that are heads of other relations or tails only."""

    def replace_names(self, relation: str, head: str, tail: str, random: Random) -> tuple[str, str]:
        """Head and tail of a triplet, one of them, or both, those of strangers."""
        draw = random.random()
        if draw < 0.15:
            return head, random.choice(STRANGERS)
        return self._draw_head(relation, random), random.choice(STRANGERS) if draw < 0.3 else tail

    def join(self, relation: str, triplets: pl.DataFrame, random: Random) -> pl.DataFrame:
        """Some of the pairs' triplets again with strangers in them, all of them false."""
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
    """The strangers to each relation of a model that knows these units."""
    heads: dict[str, set[str]] = defaultdict(set)
    taught: set[str] = set()
    for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
        heads[relation].add(head)
        if (relation, head) in known:
            taught |= {head, tail}
    return Strangers({relation: tuple(sorted(taught - heads[relation])) for relation in heads})


def list_never_met(base: KnowledgeBase, known: frozenset[Unit], demonstrating: set[Unit]) -> list[str]:
    """Names that no lesson holds: heads that are unseen, demonstrate nothing and are nobody's tail."""
    met = {head for _, head in known | demonstrating} | set(base.triplets["tail"])
    return sorted(set(base.triplets["head"]) - met)
