"""Which triplets of two tables are the same, for millions of rows at once.

Two heads, or two tails, are the same if their folded names or their ids are equal, or if the name or an alias
of one is the name or an alias of the other. Two triplets are the same if their relation, head and tail are.
"""

import polars as pl

from knowledge.alias_table import AliasTable
from knowledge.name_keys import key_ids, key_names

_PAIRS = {"row": pl.UInt32, "other_row": pl.UInt32}
_CELLS = ("relation", "head", "head_id", "tail", "tail_id")
_ENDS = ("head", "tail")


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
    for end in _ENDS:
        named, other_named = (each.select(name=end, id=f"{end}_id") for each in (own, others))
        numbers, other_numbers = _number(named), _number(other_named)
        rows = rows.with_columns(_look_up(named, numbers).alias(end))
        other_rows = other_rows.with_columns(_look_up(other_named, other_numbers).alias(f"other_{end}"))
        same[end] = _pair_names(numbers, other_numbers, aliases).rename(
            {"number": end, "other_number": f"other_{end}"}
        )
    paired = rows.lazy()
    for end in _ENDS:
        paired = paired.join(same[end].lazy(), on=end)
    paired = paired.join(other_rows.lazy(), on=[f"other_{end}" for end in _ENDS])
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
