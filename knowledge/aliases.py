"""Aliases: other names of the heads and tails of a base, such as synonyms of a terminology.

The table has the columns alias and name, or alias and id, or all three. A row gives its alias to every name
that is spelled like its name, and to every name that has its id in the base.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from knowledge.base import COLUMNS, KnowledgeBase
from knowledge.name_tables import read_name_table
from knowledge.spelling import fold_name
from primitives.errors import InputError

Aliases = Mapping[str, tuple[str, ...]]
"""Name, as the base writes it -> its aliases, sorted. A name without aliases is missing."""
_NAMES = ("name", "id")


def add_aliases(base: KnowledgeBase, path: Path) -> KnowledgeBase:
    """Return the base with the aliases of a table.

    Where an alias of a tail is itself a tail of the relation, the triplet with that tail is true as well: it
    becomes a row with ``also_true``, so that it is never drawn as a negative. The same holds for heads.

    Raises:
        InputError: the file cannot be read, lacks a column, or has a wrong row; the message names it.
    """
    aliases = _find_aliases(base, _read_rows(path))
    return replace(base, triplets=_add_true_triplets(base.triplets, aliases), aliases=aliases)


def _read_rows(path: Path) -> pl.DataFrame:
    rows = read_name_table(path, ("alias",), _NAMES)
    if not any(name in rows.columns for name in _NAMES):
        raise InputError(f"{path} has neither a column name nor a column id: add one of them")
    missing = [pl.lit(None, pl.String).alias(name) for name in _NAMES if name not in rows.columns]
    rows = rows.with_columns(missing).with_columns(pl.col(_NAMES).str.strip_chars().replace("", None))
    for place in rows.filter(pl.all_horizontal(pl.col(_NAMES).is_null()))["place"]:
        raise InputError(f"{path}, {place}: the row has neither a name nor an id: write one of them")
    return rows.with_columns(pl.col("alias").str.strip_chars())


def _find_aliases(base: KnowledgeBase, rows: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    by_name: dict[str, set[str]] = {}
    by_id: dict[str, set[str]] = {}
    for name, identifier, alias in rows.select("name", "id", "alias").iter_rows():
        if name is not None:
            by_name.setdefault(fold_name(name), set()).add(alias)
        if identifier is not None:
            by_id.setdefault(identifier, set()).add(alias)
    found: dict[str, set[str]] = {}
    for side in ("head", "tail"):
        named = base.triplets.select(side, f"{side}_id").unique()
        for name, identifier in named.iter_rows():
            aliases = by_name.get(fold_name(name), set()) | by_id.get(identifier, set())
            found.setdefault(name, set()).update(a for a in aliases if fold_name(a) != fold_name(name))
    return {name: tuple(sorted(aliases)) for name, aliases in sorted(found.items()) if aliases}


def _add_true_triplets(triplets: pl.DataFrame, aliases: Aliases) -> pl.DataFrame:
    """Return the triplets, and those that are the same under another name of the base."""
    pairs = pl.DataFrame(
        [(name, fold_name(alias)) for name, of_name in aliases.items() for alias in of_name],
        schema={"name": pl.String, "key": pl.String},
        orient="row",
    )
    added = []
    for side in ("head", "tail"):
        columns = [side, f"{side}_id"]
        same = _pair_names(triplets.select("relation", name=side, id=f"{side}_id").unique(), pairs)
        rows = triplets.drop(columns[1]).join(same, left_on=["relation", side], right_on=["relation", "name"])
        named = rows.drop(side).rename({"other_name": side, "other_id": columns[1]})
        added.append(named.with_columns(also_true=True).select(list(COLUMNS)))
    new = pl.concat(added).unique().join(triplets, on=["relation", "head", "tail"], how="anti")
    return pl.concat([triplets, new]).sort("relation", "head", "tail", "head_id", "tail_id", nulls_last=True)


def _pair_names(names: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return relation, name, other_name and other_id of names that mean the same, in both directions.

    Args:
        names: relation, name and id.
        pairs: name and key, the folded alias of the name.
    """
    keyed = names.select(
        "relation",
        pl.col("name").map_elements(fold_name, pl.String).alias("key"),
        other_name="name",
        other_id="id",
    )
    one = names.join(pairs, on="name").join(keyed, on=["relation", "key"])
    other = one.select("relation", name="other_name", other_name="name", other_id="id")
    both = pl.concat([one.select(other.columns), other])
    return both.filter(pl.col("name") != pl.col("other_name")).unique()
