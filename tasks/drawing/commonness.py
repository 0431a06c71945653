"""How often the base lists a head and a tail, and how common the tail is among the facts of the base.

The draw cannot keep every fact: a tail that most heads have is false of too few heads, and a head whose
name betrays its tail is left out. So the tested facts are not a random part of the base, and the warehouse
weighs them by how common their tails are in the base (warehouse/weighted_observations.sql).

The population is one fact of every head, and each of its facts has the same chance. It contains the general
tails that are not asked.
"""

import polars as pl

from tasks.drawing.relation_facts import PAIR, RelationFacts


def count_facts(facts: RelationFacts) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count the facts of each head and of each tail of the relation.

    Returns:
        Two tables. Heads: head and head_frequency, the number of its tails. Tails: tail, tail_frequency, the
        number of its heads, and tail_commonness, the share of the population whose tails are rarer.
    """
    is_asked = ~pl.col("also_true")
    if "is_general" in facts.rows.columns:
        is_asked |= pl.col("is_general")
    listed = facts.rows.filter(is_asked).select(PAIR).unique()
    listed = listed.with_columns(head_frequency=pl.len().over("head"))
    heads = listed.select("head", "head_frequency").unique()
    tails = listed.group_by("tail").agg(tail_frequency=pl.len(), part=(1 / pl.col("head_frequency")).sum())
    parts = tails.sort("tail").group_by("tail_frequency").agg(pl.col("part").sum()).sort("tail_frequency")
    rarer = (parts["part"].cum_sum() - parts["part"]) / heads.height
    common = parts.select("tail_frequency", tail_commonness=rarer.round(6))
    return heads, tails.drop("part").join(common, on="tail_frequency")
