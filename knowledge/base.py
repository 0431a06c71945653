"""A knowledge base in memory: true triplets, folded names, and what was left out on the way in."""

import re
import unicodedata
from dataclasses import dataclass, field

import polars as pl

from primitives.errors import InputError
from primitives.hashing import hash_text

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
    """True triplets, distinct, sorted by relation, head, tail and ids.

    ``triplets`` has the columns relation, head, tail, head_id, tail_id (null where the source has
    none) and also_true (true of the world, but never tested and never drawn as a negative).
    A head is its name; where one name carries several ids, each id keeps its rows, because truth
    is also tested on the tails of all heads with the same id (method, 2.1).
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

    def checksum_relation(self, relation: str) -> str:
        """Hash of everything the base holds of the relation, ids included; 32 hex digits.

        The same content gives the same checksum whatever the order of its rows.

        Raises:
            InputError: if the base does not hold the relation.
        """
        rows = self.select_relation(relation)
        if rows.is_empty():
            raise InputError(f"knowledge base {self.name!r} holds no relation {relation!r}")
        # Names and ids are never empty, so "" stands for a missing id without ambiguity.
        cells = rows.select(pl.col(list(COLUMNS)).cast(pl.String).fill_null("")).sort(pl.all())
        return hash_text(*(cell for row in cells.iter_rows() for cell in row), digits=32)


def fold_name(name: str) -> str:
    """A name without case, punctuation and extra white space: what two spellings share."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\W_]+", " ", text).strip()
