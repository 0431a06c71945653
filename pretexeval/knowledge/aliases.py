"""Aliases: other names of the heads and tails of a base, such as synonyms of a terminology.

They come from a table with the columns alias and name, or alias and id, or all three, and from the columns
head_aliases and tail_aliases of the base. A row gives its alias to every name that is spelled like its name,
and to every name that has its id in the base.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import UNUSED, LeftOut
from pretexeval.knowledge.names import SIDES, AliasTable, fold_names, unify_ids
from pretexeval.knowledge.rows import ALIAS_SEPARATOR, SHORT_PLACE, describe_problems
from pretexeval.knowledge.tables import read_name_table
from pretexeval.primitives.errors import InputError

TAKEN = "alias that is the name of something else"
_NAMES = ("name", "id")
_ROW = ("place", *_NAMES, "alias")


def build_aliases(
    rows: pl.DataFrame, aliases: pl.DataFrame
) -> tuple[AliasTable, tuple[LeftOut, ...], tuple[LeftOut, ...]]:
    """Return the aliases of the names in rows that are not also_false, and the aliases that are left out.

    An alias is left out if it names something with another id, on the same side of a relation. The last item
    counts the aliases of other names, if these are most of them.

    Args:
        rows: clean rows of the base.
        aliases: place, name, id and alias, as `read_alias_table` and `list_alias_cells` return them.
    """
    names = {side: _list_names(rows, side) for side in SIDES}
    all_names = pl.concat(names.values())
    folded = aliases.with_columns(
        unify_ids(pl.col("id")), key=fold_names(aliases["name"]), alias_key=fold_names(aliases["alias"])
    )
    # A terminology has many names that the base has not.
    is_named = pl.col("key").is_in(all_names["key"].unique().implode())
    has_id = pl.col("id").is_in(all_names["id"].unique().drop_nulls().implode())
    is_known = is_named.fill_null(value=False) | has_id.fill_null(value=False)
    named = folded.filter(is_known).with_row_index("row")
    others = tuple(_count_others(folded.filter(~is_known), folded.height))
    taken = pl.concat([_find_taken(named, side, each.drop_nulls()) for side, each in names.items()])
    what = pl.format(
        "{}: '{}' is an alias of {}, and the name of the {} {}",
        *("relation", "alias", pl.coalesce("name", "id"), "side", "other_id"),
    )
    listed = taken.select("place", what=what, reason=pl.lit(TAKEN)).unique().sort("what", "place")
    own = named.join(taken, on="row", how="anti")
    conflicts = tuple(LeftOut(*row) for row in listed.iter_rows())
    return AliasTable(_find_aliases(own, all_names)), conflicts, others


def read_alias_table(path: Path) -> pl.DataFrame:
    """Return the rows of a table: place (for messages), name, id (at least one of the two) and alias.

    Raises:
        InputError: the file cannot be read, lacks a column, or has a wrong row; the message names it.
    """
    rows = read_name_table(path, ("alias",), _NAMES)
    if not any(name in rows.columns for name in _NAMES):
        raise InputError(f"{path} has neither a column name nor a column id: add one of them")
    missing = [pl.lit(None, pl.String).alias(name) for name in _NAMES if name not in rows.columns]
    rows = rows.with_columns(missing).with_columns(
        pl.col(*_NAMES, "alias").str.strip_chars().replace("", None)
    )
    nameless = rows.filter(pl.all_horizontal(pl.col(_NAMES).is_null()))["place"]
    if len(nameless):
        problem = "the row has neither a name nor an id: write one of them"
        raise InputError(describe_problems([f"{path}, {place}: {problem}" for place in nameless]))
    return rows.with_columns(pl.format("{}, {}", pl.lit(path.name), "place").alias("place")).select(_ROW)


def list_alias_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the aliases in the columns of clean rows: place, name, id and alias.

    Every fact of a name repeats its aliases, so only those of the first row are returned.
    """
    listed = [
        rows.lazy()
        .select("file", "row", name=side, id=f"{side}_id", aliases=f"{side}_aliases")
        .filter(pl.col("aliases").is_not_null())
        .unique(["name", "id", "aliases"], keep="first", maintain_order=True)
        .select(SHORT_PLACE.alias("place"), "name", "id", alias=pl.col("aliases").str.split(ALIAS_SEPARATOR))
        .explode("alias")
        .collect()
        for side in SIDES
    ]
    cells = pl.concat(listed).with_columns(pl.col("alias").str.strip_chars())
    return cells.filter(pl.col("alias") != "").select(_ROW)


def _count_others(others: pl.DataFrame, n_aliases: int) -> Iterator[LeftOut]:
    """Yield the number of aliases of other names than those of the base, if they are most of all aliases."""
    if 2 * others.height <= n_aliases:
        return
    place, name, identifier, alias = others.select(_ROW).row(0)
    what = f"'{alias}' is an alias of '{name or identifier}'"
    if others.height == n_aliases:
        remedy = "write the names or the ids of both alike"
        yield LeftOut(place, f"{what}, which the base does not have: {remedy}", UNUSED)
    else:
        counts = f"{others.height:,} of {n_aliases:,} aliases"
        yield LeftOut(place, what, f"{counts} are of a name or an id that the base does not have")


def _list_names(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    """Return the distinct name and id of one side, with the relation and the folded name as `key`."""
    stated = rows.lazy().filter(~pl.col("also_false"))
    names = stated.select("relation", name=side, id=unify_ids(pl.col(f"{side}_id"))).unique().collect()
    return names.with_columns(key=fold_names(names["name"]))


def _find_aliases(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return name and alias of each name that has one. Rows may be repeated."""
    cells = ["name", "key", "alias", "alias_key"]
    named = names.select("name", "key", "id").unique()
    found = [
        named.join(rows.select(column, "alias", "alias_key").unique(), on=column).select(cells)
        for column in ("key", "id")
    ]
    return pl.concat(found).filter(pl.col("alias_key") != pl.col("key")).select("name", "alias")


def _find_taken(aliases: pl.DataFrame, side: str, names: pl.DataFrame) -> pl.DataFrame:
    """Return row, place, name, id, alias, side, relation and other_id of aliases that name something else.

    Args:
        aliases: row, place, name, id, alias and their folded forms.
        side: head or tail.
        names: relation, name, id and key of this side.
    """
    cells = ["row", "relation", "id"]
    keyed = aliases.with_columns(pl.col("key").fill_null(""))
    suspects = keyed.filter(pl.col("alias_key").is_in(names["key"].unique().implode()))
    named = names.select("relation", "key", identifier="id").unique()
    other = suspects.join(named, left_on="alias_key", right_on="key").select(
        "row", "relation", id="identifier"
    )
    by_key = suspects.join(named, on="key").select("row", "relation", id="identifier")
    by_id = suspects.join(names.select("relation", "id").unique(), on="id").select(cells)
    own = pl.concat([by_key, by_id])
    shared = other.join(own, on=cells, how="semi")
    on = ["row", "relation"]
    taken = other.join(own, on=on, how="semi").join(shared, on=on, how="anti")
    first = taken.group_by(on).agg(other_id=pl.col("id").min())
    return first.join(suspects, on="row").with_columns(side=pl.lit(side))
