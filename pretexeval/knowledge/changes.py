"""Facts that an older release holds and the base no longer does: removed facts, and reversed ones.

A base lacks many older facts for reasons that say nothing about medicine: the head or the tail has left it,
or it says the same in other words. Only a fact whose head and tail are both still there counts as removed.
"""

from dataclasses import replace

import polars as pl

from pretexeval.config.tables import REMOVED, REVERSED
from pretexeval.knowledge.base import KnowledgeBase, LeftOut, cap_left_out
from pretexeval.knowledge.hierarchy import climb
from pretexeval.knowledge.names import AliasTable, list_keys
from pretexeval.knowledge.releases import SORTED, Release
from pretexeval.knowledge.same_triplets import SIDES, pair_same_triplets

HEAD_LEFT = "not tested as removed: the base has no fact about the head"
TAIL_LEFT = "not tested as removed: the base no longer has the tail"
MORE_GENERAL = "not tested as removed: the base has a more general tail of the head"


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
    also_false = base.also_false.with_columns(
        first_release=pl.when(is_reversed).then(pl.lit(REVERSED)).otherwise(None)
    )
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
    left_out, not_listed = cap_left_out(
        LeftOut("an older release", f"{relation}: {head} → {tail}", why)
        for relation, head, tail, why in judged.filter(pl.col("reason").is_not_null())
        .select("relation", "head", "tail", "reason")
        .iter_rows()
    )
    triplets = base.triplets.with_columns(first_release=pl.lit(None, pl.String))
    return replace(
        base,
        triplets=pl.concat([triplets, removed.unique()]).sort(SORTED, nulls_last=True),
        also_false=also_false,
        left_out=(*base.left_out, *left_out),
        not_listed=base.not_listed | not_listed,
    )


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
    found = (
        named.select(cells)
        .unique()
        .join(above, on="tail")
        .join(facts, on=["relation", "known_head", "key"], how="semi")
    )
    marked = found.select(cells).unique().with_columns(is_found=True)
    return named.join(marked, on=cells, how="left", maintain_order="left")["is_found"].fill_null(value=False)
