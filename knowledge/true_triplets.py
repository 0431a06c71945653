"""Triplets that are true under another name: names that share an alias mean the same."""

import polars as pl

from knowledge.alias_table import AliasTable
from knowledge.base import COLUMNS
from knowledge.name_keys import fold_names

SIDES = ("head", "tail")


def add_true_triplets(triplets: pl.DataFrame, aliases: AliasTable) -> pl.DataFrame:
    """Return the triplets, and those that say the same under other names, which are marked ``also_true``."""
    keyed = aliases.pairs.select("name", key=fold_names(aliases.pairs["alias"]))
    for side in SIDES:
        triplets = _add_true_triplets(triplets, side, keyed)
    return triplets


def _add_true_triplets(triplets: pl.DataFrame, side: str, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return the triplets, and those that say the same of another head or tail with the same meaning."""
    identifier = f"{side}_id"
    same = _pair_names(triplets.select("relation", name=side, id=identifier), aliases)
    if same.is_empty():
        return triplets
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


def _pair_names(names: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return relation, name, other_name and other_id of names that mean the same, in both directions.

    Args:
        names: relation, name and id.
        aliases: name and folded alias, as `key`.
    """
    own = names.select(pl.col("name").unique())
    spelled = own.with_columns(key=fold_names(own["name"]), is_alias=False)
    given = aliases.join(own, on="name", how="semi").select("name", "key", is_alias=True)
    keys = pl.concat([spelled, given]).unique()
    # Few names share a spelling with another one, so that only these are paired.
    shared = keys.filter(pl.col("key").is_duplicated())
    keyed = names.join(shared, on="name").unique()
    pairs = keyed.join(keyed, on=["relation", "key"], suffix="_other").filter(
        (pl.col("name") != pl.col("name_other")) & (pl.col("is_alias") | pl.col("is_alias_other"))
    )
    return pairs.select("relation", "name", other_name="name_other", other_id="id_other").unique()
