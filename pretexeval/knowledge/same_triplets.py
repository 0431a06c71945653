"""Triplets of two tables that are the same, and triplets that are true under another name.

Two heads, or two tails, are the same if their folded names or their ids are equal, or if the name or an alias
of one is the name or an alias of the other. Two triplets are the same if their relation, head and tail are.
"""

import polars as pl

from pretexeval.knowledge.base import COLUMNS
from pretexeval.knowledge.names import AliasTable, fold_names, key_ids, key_names

_PAIRS = {"row": pl.UInt32, "other_row": pl.UInt32}
_CELLS = ("relation", "head", "head_id", "tail", "tail_id")
SIDES = ("head", "tail")


def pair_same_triplets(
    triplets: pl.DataFrame, others: pl.DataFrame, aliases: AliasTable | None = None
) -> pl.DataFrame:
    """Return all pairs of the same triplets by their positions, as the columns row and other_row.

    Args:
        triplets: relation, head, head_id, tail and tail_id; an id may be null.
        others: the same columns.
        aliases: the aliases of names in either table.
    """
    keyed = (AliasTable() if aliases is None else aliases).alias_keys
    own = triplets.select(_CELLS).with_row_index("row")
    compared = others.select(_CELLS).with_row_index("other_row")
    pairs = [pl.DataFrame(schema=_PAIRS)]
    # One relation at a time takes less memory.
    for relation in triplets["relation"].unique().sort():
        is_chosen = pl.col("relation") == relation
        pairs.append(_pair_rows(own.filter(is_chosen), compared.filter(is_chosen), keyed))
    return pl.concat(pairs)


def _pair_rows(own: pl.DataFrame, others: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of one relation.

    Args:
        aliases: the columns name and key.
    """
    rows, other_rows = own.select("row"), others.select("other_row")
    same = {}
    for end in SIDES:
        named, other_named = (each.select(name=end, id=f"{end}_id") for each in (own, others))
        numbers, other_numbers = _number(named), _number(other_named)
        rows = rows.with_columns(_look_up(named, numbers).alias(end))
        other_rows = other_rows.with_columns(_look_up(other_named, other_numbers).alias(f"other_{end}"))
        same[end] = _pair_names(numbers, other_numbers, aliases).rename(
            {"number": end, "other_number": f"other_{end}"}
        )
    paired = rows.lazy()
    for end in SIDES:
        paired = paired.join(same[end].lazy(), on=end)
    paired = paired.join(other_rows.lazy(), on=[f"other_{end}" for end in SIDES])
    return paired.select(list(_PAIRS)).collect()


def _number(named: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct names with their ids, numbered: number, name and id."""
    return named.unique().with_row_index("number")


def _look_up(named: pl.DataFrame, numbers: pl.DataFrame) -> pl.Series:
    """Return the number of each name with its id."""
    found = named.join(numbers, on=named.columns, how="left", nulls_equal=True, maintain_order="left")
    return found["number"]


def _pair_names(numbers: pl.DataFrame, others: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of the same names, as the columns number and other_number.

    Args:
        numbers: number, name and id.
        others: the same columns.
        aliases: name and key.
    """
    keys, other_keys = (_key(each, aliases) for each in (numbers, others))
    pairs = keys.lazy().join(other_keys.lazy(), on="key", suffix="_other")
    return pairs.select("number", other_number="number_other").unique().collect()


def _key(numbers: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return the keys of names as number and key. Names with a key in common are the same."""
    names, ids = numbers["name"].unique(), numbers["id"].unique()
    own_aliases = aliases.join(names.to_frame(), on="name", how="semi")
    named = pl.concat([key_names(names), own_aliases])
    keyed = [numbers.join(named, on="name"), numbers.join(key_ids(ids), on="id")]
    return pl.concat([each.select("number", "key") for each in keyed])


def add_true_triplets(triplets: pl.DataFrame, aliases: AliasTable) -> pl.DataFrame:
    """Return the triplets, and those that say the same under other names, which are marked ``also_true``."""
    keyed = aliases.pairs.select("name", key=fold_names(aliases.pairs["alias"]))
    for side in SIDES:
        triplets = _add_true_triplets(triplets, side, keyed)
    return triplets


def _add_true_triplets(triplets: pl.DataFrame, side: str, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return the triplets, and those that say the same of another head or tail with the same meaning."""
    identifier = f"{side}_id"
    same = _pair_alias_names(triplets.select("relation", name=side, id=identifier), aliases)
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


def _pair_alias_names(names: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
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
