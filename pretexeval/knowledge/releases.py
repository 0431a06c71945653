"""Older releases of a base: the age of each fact, and which facts are new."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from pretexeval.config.tables import NEW
from pretexeval.knowledge.base import COLUMNS, KnowledgeBase, LeftOut
from pretexeval.knowledge.hierarchy import climb
from pretexeval.knowledge.names import CELLS, AliasTable, list_keys, pair_same_triplets
from pretexeval.knowledge.rows import FACT
from pretexeval.primitives.errors import InputError

ALL_KNOWN = "the older release holds all its facts"


class Release:
    """The facts of one release. Names are compared folded, and by their aliases; ids are compared as well."""

    def __init__(self, rows: pl.DataFrame, aliases: AliasTable) -> None:
        """Keep the facts.

        Args:
            rows: clean rows of the release, with the marks as booleans.
            aliases: the aliases of the base that is compared with the release.
        """
        self.rows = rows.filter(~pl.col("also_false")).select(CELLS)
        self._aliases = aliases

    def list_held(self, triplets: pl.DataFrame, hierarchy: pl.DataFrame) -> pl.Series:
        """Return for each triplet whether the release holds it, or one of its head with a more special tail.

        Args:
            triplets: triplets of a base, in its order.
            hierarchy: edges above the tails of the base or of the release.
        """
        # A fact with several ids, whose rows follow each other, is held if the release has one of them.
        is_repeated = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in FACT)
        facts = triplets.select((~is_repeated).fill_null(value=True).cum_sum()).to_series()
        held = facts[pair_same_triplets(triplets, self.rows, self._aliases)["row"].unique()]
        if not hierarchy.is_empty():
            others = triplets.with_columns(fact=facts).filter(~facts.is_in(held.implode()))
            held = pl.concat([held, self._list_implied(others, hierarchy)])
        return facts.is_in(held.implode())

    def _list_implied(self, triplets: pl.DataFrame, hierarchy: pl.DataFrame) -> pl.Series:
        """Return the facts that follow from a fact of the release.

        Args:
            triplets: of which the column fact is returned.
        """
        cells = ["relation", "head", "key"]
        names = list_keys(triplets, "head").join(list_keys(self.rows, "head"), on="key", suffix="_older")
        same_heads = names.select(head="name", name_older="name_older").unique()
        tails = (
            self.rows.select("relation", "tail", name_older="head").unique().join(same_heads, on="name_older")
        )
        older = tails.join(list_keys(self.rows, "tail"), left_on="tail", right_on="name").select(cells)
        own = triplets.join(list_keys(triplets, "tail"), left_on="tail", right_on="name")
        return own.join(climb(older, hierarchy), on=cells, how="semi")["fact"].unique()


def keep_new_facts(base: KnowledgeBase, older: Release) -> KnowledgeBase:
    """Return the base with everything that the older release holds or implies marked ``also_true``.

    Such a triplet is never tested and never drawn as a negative. This includes the triplets that the older
    release holds and the base lacks: whether they are true is in doubt. Relations without a new fact are left
    out and listed.

    Raises:
        InputError: no fact is new.
    """
    kept, n_known = {}, 0
    # One relation at a time takes less memory.
    for relation in base.relations:
        own = base.select_relation(relation)
        is_known = older.list_held(own, base.hierarchy)
        n_known += own.filter(~pl.col("also_true") & is_known).select(FACT).n_unique()
        marked = own.with_columns(pl.col("also_true") | is_known)
        if not marked["also_true"].all():
            known = older.rows.filter(pl.col("relation") == relation).unique(maintain_order=True)
            added = known.with_columns(also_true=True).select(list(COLUMNS))
            added = added.join(own, on=CELLS, how="anti", nulls_equal=True)
            kept[relation] = pl.concat([marked, added]).sort(*FACT, "head_id", "tail_id", nulls_last=True)
    if not kept:
        raise InputError(
            f"the older release holds all facts of the base {base.name!r}: "
            'set test = "new" in an earlier one of releases in [knowledge]'
        )
    new = replace(
        base,
        triplets=pl.concat(kept.values()),
        also_false=base.also_false.filter(pl.col("relation").is_in(list(kept))),
        n_known=n_known,
    )
    return new.add_left_out(
        LeftOut(name, "the relation", ALL_KNOWN) for name in base.relations if name not in kept
    )


def add_ages(
    base: KnowledgeBase, names: Sequence[str], read_release: Callable[[str], Release]
) -> KnowledgeBase:
    """Return the base with the age of every fact: the name of the oldest release that holds it, or `new`.

    Args:
        names: the names of the releases, the oldest first.
        read_release: returns the release of a name. One release at a time is in memory.
    """
    age = pl.Series("first_release", [NEW]).new_from_index(0, base.triplets.height)
    for name in reversed(names):
        is_held = read_release(name).list_held(base.triplets, base.hierarchy)
        age = age.scatter(is_held.arg_true(), name)
    return replace(base, triplets=base.triplets.with_columns(age), releases=tuple(names))


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
    ages = dated.group_by(FACT).agg(pl.col("since").min().alias("first_release"))
    triplets = base.triplets.join(ages, on=FACT, how="left", maintain_order="left")
    return replace(
        base,
        triplets=triplets.with_columns(pl.col("first_release").fill_null(NEW)),
        releases=tuple(sorted(set(ages["first_release"]) - {NEW})),
    )
