"""Older releases of a base: the age of each fact, and which facts are new, removed or reversed.

A base lacks many older facts for reasons that say nothing about medicine: the head or the tail has left it,
or it says the same in other words. Only a fact whose head and tail are both still there counts as removed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from pretexeval.config.tables import NEW, REMOVED, REVERSED
from pretexeval.knowledge.base import COLUMNS, KnowledgeBase, LeftOut
from pretexeval.knowledge.hierarchy import climb
from pretexeval.knowledge.names import SIDES, AliasTable, list_keys, pair_same_triplets
from pretexeval.primitives.errors import InputError

ALL_KNOWN = "the older release holds all its facts"
HEAD_LEFT = "not tested as removed: the base has no fact about the head"
TAIL_LEFT = "not tested as removed: the base no longer has the tail"
MORE_GENERAL = "not tested as removed: the base has a more general tail of the head"
_CELLS = ("relation", "head", "head_id", "tail", "tail_id")
_FACT = ("relation", "head", "tail")
_SORTED = ("relation", "head", "tail", "head_id", "tail_id")


class Release:
    """The facts of one release. Names are compared folded, and by their aliases; ids are compared as well."""

    def __init__(self, rows: pl.DataFrame, aliases: AliasTable) -> None:
        """Keep the facts.

        Args:
            rows: clean rows of the release, with the marks as booleans.
            aliases: the aliases of the base that is compared with the release.
        """
        self.rows = rows.filter(~pl.col("also_false")).select(_CELLS)
        self._undecided = rows.filter(pl.col("also_true") | pl.col("undecided")).select(_FACT)
        self._aliases = aliases

    @property
    def stated(self) -> pl.DataFrame:
        """The distinct facts that it does not mark as undecided, sorted."""
        decided = self.rows.join(self._undecided, on=_FACT, how="anti")
        return decided.unique().sort(_SORTED, nulls_last=True)

    def list_held(self, triplets: pl.DataFrame, hierarchy: pl.DataFrame) -> pl.Series:
        """Return for each triplet whether the release holds it, or one of its head with a more special tail.

        Args:
            triplets: triplets of a base, in its order.
            hierarchy: edges above the tails of the base or of the release.
        """
        # A fact with several ids, whose rows follow each other, is held if the release has one of them.
        is_repeated = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in _FACT)
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
        n_known += own.filter(~pl.col("also_true") & is_known).select(_FACT).n_unique()
        marked = own.with_columns(pl.col("also_true") | is_known)
        if not marked["also_true"].all():
            known = older.rows.filter(pl.col("relation") == relation).unique(maintain_order=True)
            added = known.with_columns(also_true=True).select(list(COLUMNS))
            added = added.join(own, on=_CELLS, how="anti", nulls_equal=True)
            kept[relation] = pl.concat([marked, added]).sort(_SORTED, nulls_last=True)
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


def add_changes(base: KnowledgeBase, older: Release) -> KnowledgeBase:
    """Return the base with the facts that the older release holds and the base neither holds nor implies.

    They can be tested, and are no negatives of their head. In the column first_release of the triplets they
    are `removed`, and all others null. In that of also_false, the facts that the older release holds are
    `reversed`. Facts of the older release that are gone for another reason are left out and listed.
    """
    held = Release(base.triplets.with_columns(also_false=False, undecided=False), base.aliases)
    stated = older.stated
    gone = stated.filter(~held.list_held(stated, base.hierarchy))
    is_reversed = _find_same(base.also_false, stated, base.aliases)
    named = _rename(gone.filter(~_find_same(gone, base.also_false, base.aliases)), base)
    reason = (
        pl.when(pl.col("known_head").is_null())
        .then(pl.lit(HEAD_LEFT))
        .when(~pl.col("has_tail"))
        .then(pl.lit(TAIL_LEFT))
        .when(_list_generalised(named, base))
        .then(pl.lit(MORE_GENERAL))
    )
    judged = named.with_columns(reason=reason)
    removed = judged.filter(pl.col("reason").is_null()).select(
        "relation",
        pl.col("known_head").alias("head"),
        pl.coalesce("known_tail", "tail").alias("tail"),
        "head_id",
        "tail_id",
        also_true=False,
        first_release=pl.lit(REMOVED),
    )
    triplets = base.triplets.with_columns(first_release=pl.lit(None, pl.String))
    changed = replace(
        base,
        triplets=pl.concat([triplets, removed.unique()]).sort(_SORTED, nulls_last=True),
        also_false=base.also_false.with_columns(first_release=pl.when(is_reversed).then(pl.lit(REVERSED))),
    )
    lost = judged.filter(pl.col("reason").is_not_null()).select(
        where=pl.lit("an older release"), what=pl.format("{}: {} → {}", *_FACT), reason="reason"
    )
    return changed.add_left_out(LeftOut(*row) for row in lost.iter_rows())


def _find_same(triplets: pl.DataFrame, others: pl.DataFrame, aliases: AliasTable) -> pl.Series:
    """Return for each triplet whether one of the others is the same."""
    rows = pair_same_triplets(triplets, others, aliases)["row"].unique()
    return pl.int_range(triplets.height, dtype=pl.UInt32, eager=True).is_in(rows.implode())


def _rename(gone: pl.DataFrame, base: KnowledgeBase) -> pl.DataFrame:
    """Return the facts with the names that the base has for their ends (known_head, known_tail), or null.

    An end with an id is looked up by its id, because another disease may have the same name.

    has_tail: whether the tail is a tail of the base, or in its hierarchy.
    """
    for side in SIDES:
        gone = gone.with_columns(_find_names(gone, base, side))
    in_hierarchy = pl.concat([base.hierarchy["child"], base.hierarchy["parent"]]).unique()
    keys = list_keys(gone, "tail").filter(pl.col("key").is_in(in_hierarchy.implode()))
    is_in_hierarchy = pl.col("tail").is_in(keys["name"].implode())
    return gone.with_columns(has_tail=pl.col("known_tail").is_not_null() | is_in_hierarchy)


def _find_names(gone: pl.DataFrame, base: KnowledgeBase, side: str) -> pl.Series:
    """Return the name that the base has for one end of each fact, or null."""
    known, id_column = f"known_{side}", f"{side}_id"
    own = list_keys(base.triplets, side).rename({"name": known})
    aliases = base.aliases.alias_keys.rename({"name": side})
    keys = pl.concat([list_keys(gone, side).rename({"name": side}), aliases.select(side, "key")])
    has_ids = base.triplets[id_column].is_not_null().any()
    named = gone.select(side, id_column).unique().join(keys, on=side)
    # A name has the keys of all its ids, of which only that of the row counts.
    is_own = pl.col("key") == pl.format("id:{}", pl.col(id_column))
    chosen = named.filter(is_own | pl.col(id_column).is_null() | (not has_ids))
    found = chosen.join(own, on="key").group_by(side, id_column).agg(pl.col(known).min())
    return gone.join(found, on=[side, id_column], how="left", nulls_equal=True, maintain_order="left")[known]


def _list_generalised(named: pl.DataFrame, base: KnowledgeBase) -> pl.Series:
    """Return for each fact whether the base has a tail of its head that is above its own tail."""
    keys = list_keys(named, "tail").select(tail="name", key="key").unique()
    above = climb(keys, base.hierarchy).join(keys, on=["tail", "key"], how="anti")
    own = base.triplets.join(list_keys(base.triplets, "tail"), left_on="tail", right_on="name")
    facts = own.select("relation", known_head="head", key="key").unique()
    cells = ["relation", "known_head", "tail"]
    found = named.select(cells).unique().join(above, on="tail")
    found = found.join(facts, on=["relation", "known_head", "key"], how="semi").select(cells).unique()
    marked = named.join(found.with_columns(is_found=True), on=cells, how="left", maintain_order="left")
    return marked["is_found"].fill_null(value=False)


def add_ages(
    base: KnowledgeBase, names: Sequence[str], read_release: Callable[[str], Release]
) -> KnowledgeBase:
    """Return the base with the age of every fact: the name of the oldest release that holds it, or `new`.

    A fact that already has an age keeps it.

    Args:
        names: the names of the releases, the oldest first.
        read_release: returns the release of a name. One release at a time is in memory.
    """
    age = pl.Series("first_release", [NEW]).new_from_index(0, base.triplets.height)
    for name in reversed(names):
        is_held = read_release(name).list_held(base.triplets, base.hierarchy)
        age = age.scatter(is_held.arg_true(), name)
    if "first_release" in base.triplets.columns:
        age = base.triplets.select(pl.coalesce("first_release", age).alias("first_release")).to_series()
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
    ages = dated.group_by(_FACT).agg(pl.col("since").min().alias("first_release"))
    triplets = base.triplets.join(ages, on=_FACT, how="left", maintain_order="left")
    return replace(
        base,
        triplets=triplets.with_columns(pl.col("first_release").fill_null(NEW)),
        releases=tuple(sorted(set(ages["first_release"]) - {NEW})),
    )
