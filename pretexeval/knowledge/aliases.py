"""Aliases: other names of the heads and tails of a base, such as synonyms of a terminology.

They come from a table with the columns alias and name, or alias and id, or all three, and from the columns
head_aliases and tail_aliases of the base. A row gives its alias to every name that is spelled like its name,
and to every name that has its id in the base.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.names import AliasTable, fold_name, fold_names
from pretexeval.knowledge.rows import ALIAS_SEPARATOR, describe_problems
from pretexeval.knowledge.same_triplets import PLACE, SIDES, add_true_triplets
from pretexeval.knowledge.synonyms import read_name_table
from pretexeval.primitives.errors import InputError

_NAMES = ("name", "id")
_ROW = ("place", *_NAMES, "alias")


def add_aliases(base: KnowledgeBase, rows: pl.DataFrame) -> KnowledgeBase:
    """Return the base with the aliases of its names.

    Names of one side of a relation mean the same if one is an alias of the other, or if they share an alias.
    What is true of one of them then becomes a row with ``also_true`` for the other, so that it is never drawn
    as a negative.

    Args:
        rows: place, name, id and alias, as `read_alias_table` and `list_alias_cells` return them.

    Raises:
        InputError: an alias is the name of something that has another id, or the base says that a triplet is
            false that is true under an alias; the message names the row.
    """
    names = {side: _list_names(base.triplets, side) for side in SIDES}
    all_names = pl.concat(names.values())
    rows = _select_named(_fold_rows(rows), all_names)
    aliases = AliasTable(_find_aliases(rows, all_names))
    _require_own_aliases(rows, names)
    triplets = add_true_triplets(base.triplets, aliases)
    _require_not_false(base, triplets)
    return replace(base, triplets=triplets, aliases=aliases)


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
    return rows.with_columns(pl.format("{}, {}", pl.lit(str(path)), "place").alias("place")).select(_ROW)


def list_alias_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the aliases in the columns of clean rows: place, name, id and alias.

    Every fact of a name repeats its aliases, so that only the first row with them is returned.
    """
    listed = [
        rows.lazy()
        .select("file", "row", name=side, id=f"{side}_id", aliases=f"{side}_aliases")
        .filter(pl.col("aliases").is_not_null())
        .unique(["name", "id", "aliases"], keep="first", maintain_order=True)
        .select(PLACE.alias("place"), "name", "id", alias=pl.col("aliases").str.split(ALIAS_SEPARATOR))
        .explode("alias")
        .collect()
        for side in SIDES
    ]
    cells = pl.concat(listed).with_columns(pl.col("alias").str.strip_chars())
    return cells.filter(pl.col("alias") != "").select(_ROW)


def _fold_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the folded name (null without one) as `key`, the folded alias as `alias_key`."""
    return rows.with_columns(key=fold_names(rows["name"]), alias_key=fold_names(rows["alias"]))


def _list_names(triplets: pl.DataFrame, side: str) -> pl.DataFrame:
    """Return the distinct name and id of one side, with the relation and the folded name as `key`."""
    names = triplets.select("relation", name=side, id=f"{side}_id").unique()
    return names.with_columns(key=fold_names(names["name"]))


def _select_named(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose name or id is in the base: a terminology has many others."""
    is_named = pl.col("key").is_in(names["key"].unique().implode())
    has_id = pl.col("id").is_in(names["id"].unique().drop_nulls().implode())
    return rows.filter(is_named.fill_null(value=False) | has_id.fill_null(value=False))


def _find_aliases(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return name and alias of each name that has one. Rows may be repeated."""
    cells = ["name", "key", "alias", "alias_key"]
    named = names.select("name", "key", "id").unique()
    found = [
        named.join(rows.select(column, "alias", "alias_key").unique(), on=column).select(cells)
        for column in ("key", "id")
    ]
    return pl.concat(found).filter(pl.col("alias_key") != pl.col("key")).select("name", "alias")


def _require_own_aliases(rows: pl.DataFrame, names: Mapping[str, pl.DataFrame]) -> None:
    """Raise InputError if an alias names something with another id, on the same side of a relation."""
    problems = []
    for side, named in names.items():
        for place, name, alias, relation, identifier in _find_taken(rows, named.drop_nulls()).iter_rows():
            problems.append(
                f"{place}: the alias {alias!r} of {name} is the name of another {side} of {relation}, with "
                f"the id {identifier}: delete the alias"
            )
    if problems:
        raise InputError(describe_problems(list(dict.fromkeys(problems))))


def _find_taken(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return place, name or id, alias, relation and other id of the aliases that name something else.

    Args:
        names: relation, name, id and key of one side.
    """
    cells = ["row", "relation", "id"]
    numbered = rows.with_row_index("row").with_columns(pl.col("key").fill_null(""))
    suspects = numbered.filter(pl.col("alias_key").is_in(names["key"].unique().implode()))
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
    first = taken.group_by(on).agg(pl.col("id").min().alias("other_id")).sort(on)
    return first.join(suspects, on="row", maintain_order="left").select(
        "place", pl.coalesce("name", "id"), "alias", "relation", "other_id"
    )


def _require_not_false(base: KnowledgeBase, triplets: pl.DataFrame) -> None:
    """Raise InputError if a triplet that is true under an alias is marked also_false."""
    asserted = set(_list_keys(base.also_false))
    if not asserted:
        return
    added = triplets.join(base.triplets, on=["relation", "head", "tail"], how="anti")
    problems = [
        f"{relation}: {head} → {tail} is marked also_false, but it is true because of an alias: delete the "
        "row or the alias"
        for (relation, head, tail), key in zip(
            added.select("relation", "head", "tail").iter_rows(), _list_keys(added), strict=True
        )
        if key in asserted
    ]
    if problems:
        raise InputError(describe_problems(problems))


def _list_keys(triplets: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    for relation, head, tail in triplets.select("relation", "head", "tail").iter_rows():
        yield relation, fold_name(head), fold_name(tail)
