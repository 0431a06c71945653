"""Facts that are true and test nothing, or whose false twins may be true: they are never asked.

A fact whose tail repeats its head, a placeholder such as "Unknown" and the root of a hierarchy say nothing.
In a relation of possibility ("may have"), a general tail such as "Pain" may be true of heads for which nobody
lists it, so that it can be no false twin; and if it were only asked as true, the tail alone would tell the
answer.
"""

from collections.abc import Collection
from dataclasses import replace

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.doubtful_names import VOCABULARY
from pretexeval.knowledge.hierarchy import climb
from pretexeval.knowledge.names import fold_names, list_keys, unify_ids

REPEATED = "the tail repeats the head"
PLACEHOLDER = "the tail is a placeholder"
PLACEHOLDER_HEAD = "the head is a placeholder"
ROOT = "the tail is the root of the hierarchy"
GENERAL = "more than {:g} % of the heads have the tail, and the relation is one of possibility"
NO_FACT = "none of its facts is asked: {}"
_VAGUE, _FILLING = ("|".join(VOCABULARY["placeholders"][kind]) for kind in ("vague", "filling"))
_PLACEHOLDER = rf"^(?:(?:{_FILLING}) )*(?:{_VAGUE})(?: (?:{_VAGUE}|{_FILLING}))*$"
_PATTERNS = {
    ("head", PLACEHOLDER_HEAD): _PLACEHOLDER,
    ("tail", PLACEHOLDER): "|".join([_PLACEHOLDER, *VOCABULARY["placeholders"]["tails"]]),
}
MIN_TOP = 0.2
"""A name at the top of a hierarchy says nothing if this share of the known names is below it."""
MIN_GENERAL = 10
"""A tail of fewer heads is not general, whatever their share is."""


def leave_untested(base: KnowledgeBase, possible: Collection[str], max_share: float) -> KnowledgeBase:
    """Return the base with the facts that are not asked marked ``also_true``, and what was left out.

    The column is_general of the triplets marks those whose tail is general.

    The tails that are never asked are listed, and so are the heads of which no fact is asked.

    Args:
        possible: the relations of possibility, in which general tails are not asked.
        max_share: a tail is general if a larger share of the heads has it.
    """
    tested = base.triplets.with_row_index("row").filter(~pl.col("also_true"))
    general = GENERAL.format(100 * max_share)
    reasons = [
        tested.filter(_find_repeated(tested)).select("row", reason=pl.lit(REPEATED)),
        *(
            tested.filter(fold_names(tested[end]).str.contains(pattern)).select("row", reason=pl.lit(reason))
            for (end, reason), pattern in _PATTERNS.items()
        ),
        _find_roots(base, tested).select("row", reason=pl.lit(ROOT)),
        _find_general(tested.filter(pl.col("relation").is_in(list(possible))), max_share).select(
            "row", reason=pl.lit(general)
        ),
    ]
    untested = pl.concat(reasons).unique("row", keep="first", maintain_order=True)
    if untested.is_empty():
        return base
    is_untested = pl.int_range(pl.len()).is_in(untested["row"].implode())
    of_general = untested.filter(reason=general)["row"].implode()
    triplets = base.triplets.with_columns(
        pl.col("also_true") | is_untested, is_general=pl.int_range(pl.len()).is_in(of_general)
    )
    left_out = [*_list_tails(tested, untested), *_list_heads(tested, untested)]
    return replace(base, triplets=triplets).add_left_out(left_out)


def _find_repeated(rows: pl.DataFrame) -> pl.Series:
    """Return which tails have the words of their heads and no other, in any order."""
    heads, tails = (fold_names(rows[end]).str.split(" ") for end in ("head", "tail"))
    # Sorting the words of every name would take fifty times as long.
    is_same = heads.list.set_symmetric_difference(tails).list.len() == 0
    head_ids, tail_ids = (rows.select(unify_ids(pl.col(f"{end}_id"))).to_series() for end in ("head", "tail"))
    return is_same | (head_ids == tail_ids).fill_null(value=False)


def _find_roots(base: KnowledgeBase, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose tail is above all other tails of its relation that the hierarchy knows."""
    if base.hierarchy.is_empty():
        return rows.clear()
    # What is above heads only says nothing of the tails.
    keys = list_keys(base.triplets, "tail").select("key").unique()
    reached = climb(keys, base.hierarchy).rename({"key": "child"})
    above, found = base.hierarchy.join(reached, on="child", how="semi"), [rows.clear()]
    for (relation,), group in rows.group_by("relation", maintain_order=True):
        keys = list_keys(base.select_relation(str(relation)), "tail").select("key").unique()
        roots = _list_roots(above, keys["key"])
        tails = list_keys(group, "tail").filter(pl.col("key").is_in(roots.implode()))["name"].unique()
        found.append(group.filter(pl.col("tail").is_in(tails.implode())))
    return pl.concat(found)


def _list_roots(hierarchy: pl.DataFrame, keys: pl.Series) -> pl.Series:
    """Return the keys that all known keys are below or above, and wide ones without a parent."""
    has_child, has_parent = (hierarchy[end].unique() for end in ("parent", "child"))
    known = keys.filter(keys.is_in(has_child.implode()) | keys.is_in(has_parent.implode()))
    pairs = climb(pl.DataFrame({"below": known, "key": known}), hierarchy)
    above_known = pairs.filter(pl.col("key").is_in(known.implode()), pl.col("key") != pl.col("below"))
    n_above = above_known.group_by(key="below").agg(n_above=pl.len())
    # Each key is below itself.
    n_below = pairs.group_by("key").agg(n_below=pl.len()).join(n_above, on="key", how="left")
    of_all = n_below.filter(
        pl.col("n_below") + pl.col("n_above").fill_null(0) == len(known),
        pl.col("key").is_in(has_child.implode()),
    )["key"]
    # Of many parallel tops, each is a class as any other.
    is_wide = (pl.col("n_below") >= MIN_TOP * len(known)) & ~pl.col("key").is_in(has_parent.implode())
    tops = n_below.filter(is_wide, pl.col("key").is_in(has_child.implode()))["key"]
    return pl.concat([of_all, tops]).unique()


def _find_general(rows: pl.DataFrame, max_share: float) -> pl.DataFrame:
    """Return the rows whose tail more than this share of the heads of the relation have."""
    facts = rows.select("relation", "head", "tail").unique()
    n_heads = facts.group_by("relation").agg(n_heads=pl.col("head").n_unique())
    n_listed = facts.group_by("relation", "tail").len().join(n_heads, on="relation")
    is_general = (pl.col("len") > max_share * pl.col("n_heads")) & (pl.col("len") >= MIN_GENERAL)
    return rows.join(n_listed.filter(is_general), on=["relation", "tail"], how="semi", maintain_order="left")


def _list_tails(tested: pl.DataFrame, untested: pl.DataFrame) -> list[LeftOut]:
    """Return relation and tail of the facts that are not asked, with the number of their heads."""
    facts = tested.join(untested.filter(pl.col("reason") != PLACEHOLDER_HEAD), on="row")
    counted = facts.group_by("relation", "tail", "reason").agg(n=pl.col("head").n_unique())
    return [
        LeftOut(relation, tail, f"{reason} (heads: {n})")
        for relation, tail, reason, n in counted.sort("relation", "tail", "reason").iter_rows()
    ]


def _list_heads(tested: pl.DataFrame, untested: pl.DataFrame) -> list[LeftOut]:
    """Return the heads none of whose facts is asked, with the reason for the first of their facts."""
    kept = tested.join(untested, on="row", how="anti")
    lost = tested.join(untested, on="row").join(kept, on=["relation", "head"], how="anti").sort("row")
    heads = lost.unique(["relation", "head"], keep="first").sort("relation", "head")
    return [
        LeftOut(relation, head, NO_FACT.format(reason))
        for relation, head, reason in heads.select("relation", "head", "reason").iter_rows()
    ]


def list_lost_heads(base: KnowledgeBase) -> dict[str, dict[str, list[str]]]:
    """Return relation -> reason -> the heads of which no fact is asked for it, as `leave_untested` found."""
    no_fact, heads = NO_FACT.format(""), dict[str, dict[str, list[str]]]()
    for item in base.left_out:
        if item.reason.startswith(no_fact):
            reasons = heads.setdefault(item.where, {})
            reasons.setdefault(item.reason.removeprefix(no_fact), []).append(item.what)
    return heads
