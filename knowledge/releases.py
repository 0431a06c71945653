"""Releases of a base: which facts an older one holds, the age of each fact, and a base of only new facts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from config.tables import NEW
from knowledge.alias_table import AliasTable
from knowledge.base import COLUMNS, KnowledgeBase
from knowledge.left_out import LeftOut
from knowledge.spelling import fold_name, list_name_keys
from knowledge.true_triplets import add_true_triplets
from primitives.errors import InputError

ALL_KNOWN = "the older release holds all its facts"
_CELLS = ("relation", "head", "head_id", "tail", "tail_id")
_FACT = ("relation", "head", "tail")
_Key = tuple[str, str, str]


class Release:
    """The facts of one release. Names are compared folded, and by their aliases; ids are compared as well."""

    def __init__(self, rows: pl.DataFrame, aliases: AliasTable) -> None:
        """Index the facts.

        Args:
            rows: clean rows of the release, with also_true and also_false as booleans.
            aliases: the aliases of the base that is compared with the release.
        """
        self.facts = (
            rows.filter(~pl.col("also_false"))
            .with_columns(also_true=True)
            .select(list(COLUMNS))
            .unique(maintain_order=True)
        )
        self._aliases = aliases
        cells = self.facts.select(_CELLS).iter_rows()
        self._keys = {key for row in cells for key in _list_keys(row, aliases)}

    def list_held(self, triplets: pl.DataFrame) -> pl.Series:
        """Return for each triplet whether the release holds it.

        Args:
            triplets: the columns relation, head, head_id, tail and tail_id.
        """
        rows = triplets.select(_CELLS).iter_rows()
        held = [not self._keys.isdisjoint(_list_keys(row, self._aliases)) for row in rows]
        marked = triplets.with_columns(pl.Series("is_held", held, dtype=pl.Boolean))
        # A fact with several ids is held if the release has it with one of them.
        return marked.select(pl.col("is_held").any().over(_FACT)).to_series()


def _list_keys(cells: tuple[str, ...], aliases: Mapping[str, tuple[str, ...]]) -> Iterator[_Key]:
    """Yield the keys of a triplet: two triplets are the same if they have a key in common."""
    relation, head, head_id, tail, tail_id = cells
    tail_keys = _list_spellings(tail, tail_id, aliases)
    for head_key in _list_spellings(head, head_id, aliases):
        for tail_key in tail_keys:
            yield relation, head_key, tail_key


def _list_spellings(name: str, identifier: str, aliases: Mapping[str, tuple[str, ...]]) -> list[str]:
    others = (f"name:{fold_name(alias)}" for alias in aliases.get(name, ()))
    return [*list_name_keys(name, identifier), *others]


def keep_new_facts(base: KnowledgeBase, older: Release) -> KnowledgeBase:
    """Return the base with everything that the older release holds marked ``also_true``.

    Such a triplet is never tested and never drawn as a negative. This includes the triplets that the older
    release holds and the base lacks: whether they are true is in doubt. Relations without a new fact are left
    out and listed.

    Raises:
        InputError: no fact is new.
    """
    is_known = older.list_held(base.triplets)
    known = base.triplets.filter(~pl.col("also_true") & is_known)
    own = base.triplets.with_columns(pl.col("also_true") | is_known)
    relations = sorted(own.filter(~pl.col("also_true"))["relation"].unique().to_list())
    if not relations:
        raise InputError(
            f"the older release holds all facts of the base {base.name!r}: set since of [knowledge] to an "
            "earlier release"
        )
    added = older.facts.join(own, on=_CELLS, how="anti", nulls_equal=True)
    triplets = pl.concat([own, added]).filter(pl.col("relation").is_in(relations))
    if base.aliases:
        triplets = add_true_triplets(triplets, base.aliases)
    missing = [name for name in base.relations if name not in relations]
    return replace(
        base,
        triplets=triplets.sort("relation", "head", "tail", "head_id", "tail_id", nulls_last=True),
        also_false=base.also_false.filter(pl.col("relation").is_in(relations)),
        left_out=(*base.left_out, *(LeftOut(name, "the relation", ALL_KNOWN) for name in missing)),
        n_known=known.select(_FACT).n_unique(),
    )


def add_ages(base: KnowledgeBase, releases: Mapping[str, Release]) -> KnowledgeBase:
    """Return the base with the age of every fact: the name of the oldest release that holds it, or `new`.

    Args:
        releases: name -> release, the oldest first.
    """
    age = pl.lit(NEW)
    for name, release in reversed(list(releases.items())):
        age = pl.when(release.list_held(base.triplets)).then(pl.lit(name)).otherwise(age)
    triplets = base.triplets.with_columns(age.alias("first_release"))
    return replace(base, triplets=triplets, releases=tuple(releases))


def add_written_ages(base: KnowledgeBase, rows: pl.DataFrame) -> KnowledgeBase:
    """Return the base with the age of every fact as its rows say it, if any of them does.

    The age is the first value of `since`, in the order of text, among all rows of the fact; `new` if none has
    one.

    Args:
        rows: clean rows of the base, with the column since.
    """
    dated = rows.filter(pl.col("since") != "", ~pl.col("also_false"))
    if dated.is_empty():
        return base
    ages = dated.group_by(_FACT).agg(pl.col("since").min().alias("first_release"))
    triplets = base.triplets.join(ages, on=_FACT, how="left", maintain_order="left")
    return replace(
        base,
        triplets=triplets.with_columns(pl.col("first_release").fill_null(NEW)),
        releases=tuple(sorted(set(ages["first_release"]) - {NEW})),
    )
