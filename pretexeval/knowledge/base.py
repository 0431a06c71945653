"""A knowledge base in memory: its triplets, aliases and hierarchy, and the parts that were left out."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Self

import polars as pl

from pretexeval.knowledge.names import AliasTable, key_variants, list_keys
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import SEPARATOR, hash_joined

# Prefect visits every item of a task's parameters: a list of 1.7 million repeated rows cost ten minutes and
# gigabytes. A list of this length costs 0.1 s per task, and no known knowledge base leaves out as much.
MAX_LISTED = 10_000
"""Maximum number of parts of one reason that are listed."""


UNUSED = "few of its names and ids are in the base"
"""The reason for which a hierarchy, or a table of aliases, is probably useless."""


@dataclass(frozen=True)
class LeftOut:
    """A part of the source that is not in the base, and the reason. The edition's manifest lists these."""

    where: str
    what: str
    reason: str

    @property
    def kind(self) -> str:
        """The reason without the numbers of rows that it may name."""
        return re.sub(r"\d+", "N", self.reason)


def cap_left_out(items: Iterable[LeftOut]) -> tuple[tuple[LeftOut, ...], dict[str, int]]:
    """Return the first items of each kind of reason, and kind -> the number of its further items."""
    listed, counts = [], Counter[str]()
    for item in items:
        counts[item.kind] += 1
        if counts[item.kind] <= MAX_LISTED:
            listed.append(item)
    return tuple(listed), {kind: n - MAX_LISTED for kind, n in counts.items() if n > MAX_LISTED}


COLUMNS = {
    "relation": pl.String,
    "head": pl.String,
    "tail": pl.String,
    "head_id": pl.String,
    "tail_id": pl.String,
    "also_true": pl.Boolean,
}


ROWS_AT_ONCE = 100_000
"""Rows whose cells are joined at once for a checksum."""
FALSE_COLUMNS = {name: pl.String for name in COLUMNS if name != "also_true"}
"""The columns of triplets that the source asserts to be false."""
HIERARCHY = {"child": pl.String, "parent": pl.String}
"""The columns of a hierarchy: two keys, as `pretexeval.knowledge.names.list_keys` gives them."""


@dataclass(frozen=True)
class KnowledgeBase:
    """Distinct true triplets, sorted by relation, head, tail and ids.

    ``triplets`` has the columns relation, head, tail, head_id and tail_id (null if the source has no ids),
    and also_true (the triplet is true or undecided, and is neither tested nor drawn as a negative). A head is
    identified by its name. If one name has several ids, each id keeps its rows, because truth is also tested
    on the tails of all heads with the same id (method, 2.1).
    """

    name: str
    triplets: pl.DataFrame
    left_out: tuple[LeftOut, ...] = ()
    also_false: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FALSE_COLUMNS))
    """Distinct triplets that the source asserts to be false, sorted in the same way."""
    not_listed: dict[str, int] = field(default_factory=dict)
    """Kind of a reason -> the number of parts that were left out for it and are not listed."""
    aliases: AliasTable = field(default_factory=AliasTable)
    """Name of a head or a tail -> its other names."""
    n_known: int | None = None
    """Number of facts that are not tested because an older release has them; None without such a release."""
    releases: tuple[str, ...] = ()
    """The names of the releases that give every fact its age, the oldest first. If there are any,
    ``triplets`` has the column first_release: the oldest of them that holds the triplet, or `new`."""
    hierarchy: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=HIERARCHY))
    """All distinct edges from the names, and from the concepts above them, to more general concepts: sorted,
    and without circles."""
    shapes: dict[str, str] = field(default_factory=dict)
    """Relation -> its shape, given or guessed (tasks/drawing/shapes.py); the others imply no fact."""

    def add_left_out(self, items: Iterable[LeftOut]) -> Self:
        """Return the base with further parts that are left out."""
        listed, more = cap_left_out(items)
        not_listed = dict(Counter(self.not_listed) + Counter(more))
        return replace(self, left_out=(*self.left_out, *listed), not_listed=not_listed)

    def list_unused(self) -> list[str]:
        """Return a line for each table of a hierarchy or of aliases that is probably useless."""
        return [
            f"{item.where}: {item.reason}: {item.what}" for item in self.left_out if item.reason == UNUSED
        ]

    @property
    def relations(self) -> list[str]:
        """Return the relations, sorted."""
        return sorted(self.triplets["relation"].unique().to_list())

    @cached_property
    def keys(self) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
        """Head or tail -> the keys of all names there, and of their variants, as `list_keys` gives them."""
        return {
            end: (list_keys(self.triplets, end), key_variants(self.triplets[end].unique()))
            for end in ("head", "tail")
        }

    def select_relation(self, relation: str) -> pl.DataFrame:
        """Return the triplets of one relation."""
        return self.triplets.filter(pl.col("relation") == relation)

    def select_false(self, relation: str) -> pl.DataFrame:
        """Return the triplets of one relation that the source asserts to be false."""
        return self.also_false.filter(pl.col("relation") == relation)

    def checksum_relation(self, relation: str) -> str:
        """Return the hash of all cells of the relation, its ids and its aliases (32 hex digits).

        The order of the rows does not change the checksum, and nothing is hashed for a column also_false
        that marks no row, or for names without aliases.

        Raises:
            InputError: the base does not have the relation.
        """
        # Every file of an edition is found by the checksum, and sorting a million rows takes a second.
        if relation not in self._checksums:
            self._checksums[relation] = self._compute_checksum(relation)
        return self._checksums[relation]

    @cached_property
    def _checksums(self) -> dict[str, str]:
        return {}

    def _compute_checksum(self, relation: str) -> str:
        rows = self.select_relation(relation)
        if rows.is_empty():
            raise InputError(f"knowledge base {self.name!r} holds no relation {relation!r}")
        false_rows = self.select_false(relation)
        parts: list[Iterable[str]] = [_join_cells(rows.select(list(COLUMNS)))]
        if not false_rows.is_empty():
            parts += [["also_false"], _join_cells(false_rows.select(list(FALSE_COLUMNS)))]
        names = pl.concat([rows["head"], rows["tail"], false_rows["head"], false_rows["tail"]]).unique()
        aliases = self.aliases.pairs.join(names.to_frame("name"), on="name", how="semi")
        if not aliases.is_empty():
            parts += [["aliases"], _join_cells(aliases)]
        return hash_joined(chain(*parts), digits=32)

    def checksum_ages(self, relation: str) -> str:
        """Return the hash of the age of every fact of the relation (32 hex digits)."""
        columns = ("head", "tail", "first_release")
        ages = self.select_relation(relation).select(columns).unique()
        return hash_joined(_join_cells(ages), digits=32)

    def checksum_hierarchy(self) -> str:
        """Return the hash of the hierarchy (32 hex digits); "" if the base has none."""
        return "" if self.hierarchy.is_empty() else hash_joined(_join_cells(self.hierarchy), digits=32)


def _join_cells(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the cells of the sorted rows, those of many rows joined to one text."""
    # Names and ids are never empty, so "" can represent a missing id.
    sorted_cells = rows.select(pl.all().cast(pl.String).fill_null("")).sort(pl.all())
    for part in sorted_cells.iter_slices(ROWS_AT_ONCE):
        lines = part.select(pl.concat_str(pl.all(), separator=SEPARATOR)).to_series()
        yield SEPARATOR.join(lines)
