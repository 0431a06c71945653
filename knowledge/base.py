"""A knowledge base in memory: its true triplets, folded names, and what the reader left out."""

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
    """A part of the source that is not in the base, and the reason. The edition's manifest lists these."""

    where: str
    what: str
    reason: str


@dataclass(frozen=True)
class KnowledgeBase:
    """Distinct true triplets, sorted by relation, head, tail and ids.

    ``triplets`` has the columns relation, head, tail, head_id and tail_id (null if the source has no ids),
    and also_true (the triplet is true, but is never tested and never drawn as a negative). A head is
    identified by its name. If one name has several ids, each id keeps its rows, because truth is also tested
    on the tails of all heads with the same id (method, 2.1).
    """

    name: str
    triplets: pl.DataFrame
    left_out: tuple[LeftOut, ...] = field(default=())

    @property
    def relations(self) -> list[str]:
        """Return the relations, sorted."""
        return sorted(self.triplets["relation"].unique().to_list())

    def select_relation(self, relation: str) -> pl.DataFrame:
        """Return the triplets of one relation."""
        return self.triplets.filter(pl.col("relation") == relation)

    def checksum_relation(self, relation: str) -> str:
        """Return the hash of all cells of the relation, including ids (32 hex digits).

        The order of the rows does not change the checksum.

        Raises:
            InputError: the base does not have the relation.
        """
        rows = self.select_relation(relation)
        if rows.is_empty():
            raise InputError(f"knowledge base {self.name!r} holds no relation {relation!r}")
        # Names and ids are never empty, so "" can represent a missing id.
        cells = rows.select(pl.col(list(COLUMNS)).cast(pl.String).fill_null("")).sort(pl.all())
        return hash_text(*(cell for row in cells.iter_rows() for cell in row), digits=32)


def fold_name(name: str) -> str:
    """Return the name without case, punctuation and extra white space, so that spellings can be compared."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\W_]+", " ", text).strip()
