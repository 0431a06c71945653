"""Aliases: other names of the heads and tails of a base, such as synonyms of a terminology.

They come from a table with the columns alias and name, or alias and id, or all three, and from the columns
head_aliases and tail_aliases of the base. A row gives its alias to every name that is spelled like its name,
and to every name that has its id in the base.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from knowledge.base import COLUMNS, KnowledgeBase
from knowledge.contradictions import PLACE
from knowledge.name_tables import read_name_table
from knowledge.rows import ALIAS_SEPARATOR, describe_problems
from knowledge.spelling import fold_name
from primitives.errors import InputError

Aliases = Mapping[str, tuple[str, ...]]
"""Name, as the base writes it -> its aliases, sorted. A name without aliases is missing."""
SIDES = ("head", "tail")
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
    rows = _select_named(base, rows)
    aliases = _find_aliases(base, rows)
    _require_own_aliases(base, rows)
    triplets = add_true_triplets(base.triplets, aliases)
    _require_not_false(base, triplets)
    return replace(base, triplets=triplets, aliases=aliases)


def add_true_triplets(triplets: pl.DataFrame, aliases: Aliases) -> pl.DataFrame:
    """Return the triplets, and those that say the same under other names, which are marked ``also_true``."""
    for side in SIDES:
        triplets = _add_true_triplets(triplets, side, aliases)
    return triplets


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
        rows.filter(pl.col(f"{side}_aliases").is_not_null())
        .unique([side, f"{side}_id", f"{side}_aliases"], keep="first", maintain_order=True)
        .select(
            PLACE.alias("place"),
            pl.col(side).alias("name"),
            pl.col(f"{side}_id").alias("id"),
            pl.col(f"{side}_aliases").str.split(ALIAS_SEPARATOR).alias("alias"),
        )
        .explode("alias")
        for side in SIDES
    ]
    cells = pl.concat(listed).with_columns(pl.col("alias").str.strip_chars())
    return cells.filter(pl.col("alias") != "").select(_ROW)


def _select_named(base: KnowledgeBase, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose name or id is in the base: a terminology has many others."""
    keys = {fold_name(name) for side in SIDES for name in base.triplets[side].unique()}
    ids = {identifier for side in SIDES for identifier in base.triplets[f"{side}_id"].unique().drop_nulls()}
    is_named = [
        identifier in ids or (name is not None and fold_name(name) in keys)
        for name, identifier in rows.select("name", "id").iter_rows()
    ]
    return rows.filter(pl.Series(is_named, dtype=pl.Boolean))


def _find_aliases(base: KnowledgeBase, rows: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    by_name: dict[str, set[str]] = {}
    by_id: dict[str, set[str]] = {}
    for name, identifier, alias in rows.select("name", "id", "alias").iter_rows():
        if name is not None:
            by_name.setdefault(fold_name(name), set()).add(alias)
        if identifier is not None:
            by_id.setdefault(identifier, set()).add(alias)
    found: dict[str, set[str]] = {}
    for side in SIDES:
        for name, identifier in base.triplets.select(side, f"{side}_id").unique().iter_rows():
            key = fold_name(name)
            aliases = by_name.get(key, set()) | by_id.get(identifier, set())
            found.setdefault(name, set()).update(alias for alias in aliases if fold_name(alias) != key)
    return {name: tuple(sorted(aliases)) for name, aliases in sorted(found.items()) if aliases}


def _require_own_aliases(base: KnowledgeBase, rows: pl.DataFrame) -> None:
    """Raise InputError if an alias names something with another id, on the same side of a relation."""
    problems = []
    for side in SIDES:
        # Relation -> folded name -> its ids; and relation -> its ids.
        ids_by_name: dict[str, dict[str, set[str]]] = {}
        ids_by_relation: dict[str, set[str]] = {}
        named = base.triplets.select("relation", side, f"{side}_id").unique().drop_nulls()
        for relation, name, identifier in named.sort(pl.all()).iter_rows():
            ids_by_name.setdefault(relation, {}).setdefault(fold_name(name), set()).add(identifier)
            ids_by_relation.setdefault(relation, set()).add(identifier)
        for place, name, identifier, alias in rows.iter_rows():
            key, alias_key = fold_name(name or ""), fold_name(alias)
            for relation, by_name in ids_by_name.items():
                own = by_name.get(key, set()) | ({identifier} & ids_by_relation[relation])
                other = by_name.get(alias_key, set())
                if own and other and own.isdisjoint(other):
                    problems.append(
                        f"{place}: the alias {alias!r} of {name or identifier} is the name of another {side} "
                        f"of {relation}, with the id {min(other)}: delete the alias"
                    )
    if problems:
        raise InputError(describe_problems(list(dict.fromkeys(problems))))


def _add_true_triplets(triplets: pl.DataFrame, side: str, aliases: Aliases) -> pl.DataFrame:
    """Return the triplets, and those that say the same of another head or tail with the same meaning."""
    identifier = f"{side}_id"
    same = _pair_names(triplets.select("relation", name=side, id=identifier).unique(), aliases)
    added = (
        triplets.drop(identifier)
        .join(same, left_on=["relation", side], right_on=["relation", "name"])
        .drop(side)
        .rename({"other_name": side, "other_id": identifier})
        .with_columns(also_true=True)
        .select(list(COLUMNS))
        .unique()
        .join(triplets, on=["relation", "head", "tail"], how="anti")
    )
    return pl.concat([triplets, added]).sort(
        "relation", "head", "tail", "head_id", "tail_id", nulls_last=True
    )


def _pair_names(names: pl.DataFrame, aliases: Aliases) -> pl.DataFrame:
    """Return relation, name, other_name and other_id of names that mean the same, in both directions.

    Args:
        names: relation, name and id.
    """
    keys = pl.DataFrame(
        [
            (name, fold_name(spelling), is_alias)
            for name in names["name"].unique()
            for spelling, is_alias in ((name, False), *((alias, True) for alias in aliases.get(name, ())))
        ],
        schema={"name": pl.String, "key": pl.String, "is_alias": pl.Boolean},
        orient="row",
    )
    keyed = names.join(keys, on="name")
    pairs = keyed.join(keyed, on=["relation", "key"], suffix="_other").filter(
        (pl.col("name") != pl.col("name_other")) & (pl.col("is_alias") | pl.col("is_alias_other"))
    )
    return pairs.select("relation", "name", other_name="name_other", other_id="id_other").unique()


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
