"""A knowledge base in memory: true triplets, folded names, and what was left out on the way in."""

import re
import unicodedata
from dataclasses import dataclass, field

import polars as pl

COLUMNS = {
    "relation": pl.String,
    "head": pl.String,
    "tail": pl.String,
    "head_id": pl.String,
    "tail_id": pl.String,
    "also_true": pl.Boolean,
}


@dataclass(frozen=True)
class LeftOut:
    """Something of the source that the base does not hold, and why."""

    where: str
    what: str
    reason: str


@dataclass(frozen=True)
class KnowledgeBase:
    """True triplets, one row each, distinct, sorted by relation, head, tail.

    ``triplets`` has the columns relation, head, tail, head_id, tail_id (null where the source has
    none) and also_true (true of the world, but never tested and never drawn as a negative).
    """

    name: str
    triplets: pl.DataFrame
    left_out: tuple[LeftOut, ...] = field(default=())

    @property
    def relations(self) -> list[str]:
        """The relations, sorted."""
        return sorted(self.triplets["relation"].unique().to_list())

    def select_relation(self, relation: str) -> pl.DataFrame:
        """The triplets of one relation."""
        return self.triplets.filter(pl.col("relation") == relation)


def fold_name(name: str) -> str:
    """A name without case, punctuation and extra white space: what two spellings share."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\W_]+", " ", text).strip()
