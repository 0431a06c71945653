"""How often the base lists a head and a tail, and for how many of its facts a tested one stands.

The draw cannot keep every fact: a tail that most heads have is false of too few heads, and a head whose name
betrays its tail is left out. So the tested facts are not a random part of the base. Post-stratification corrects
for this (Holt and Smith 1979): the facts of a relation are divided into strata by how common their tails are, and
each stratum counts as much as the base has of it, whatever was drawn (warehouse/weighted_observations.sql).

The population is one fact of every head, and each of its facts has the same chance. It contains the general tails
that are not asked. They count in the stratum of the most common tails that are.
"""

import polars as pl

from tasks.drawing.relation_facts import PAIR, RelationFacts

N_STRATA = 5
"""Strata of a relation at most, each with about as many of the facts that can be tested. A common tail may
take the place of several."""


def count_facts(facts: RelationFacts) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count the facts of each head and of each tail of the relation.

    Returns:
        Two tables. Heads: head and head_frequency, the number of its tails. Tails: tail, tail_frequency, the
        number of its heads, stratum, from 1 for the rarest tails, and stratum_size, the number of heads for
        which the stratum stands.
    """
    rows = facts.rows
    is_asked = ~pl.col("also_true")
    if "is_general" in rows.columns:
        is_asked |= pl.col("is_general")
    listed = (
        rows.filter(is_asked)
        .group_by(PAIR)
        .agg(is_tested=(~pl.col("also_true")).any())
        .with_columns(
            head_frequency=pl.len().over("head"),
            chance=1 / pl.len().over("head"),
            tested_chance=pl.col("is_tested") / pl.col("is_tested").sum().over("head"),
        )
    )
    heads = listed.select("head", "head_frequency").unique()
    tails = listed.group_by("tail").agg(
        tail_frequency=pl.len(),
        chance=pl.col("chance").sum(),
        n_tested=pl.col("tested_chance").fill_nan(0).sum(),
    )
    return heads, tails.join(_divide(tails), on="tail_frequency").select(
        "tail", "tail_frequency", "stratum", "stratum_size"
    )


def _divide(tails: pl.DataFrame) -> pl.DataFrame:
    """Return the stratum of each frequency of a tail, and its size.

    Args:
        tails: tail_frequency, chance (the part of the population) and n_tested (of what can be tested).
    """
    sums = tails.sort("tail_frequency", "tail").group_by("tail_frequency", maintain_order=True).agg(
        pl.col("chance", "n_tested").sum()
    )
    tested = sums.filter(pl.col("n_tested") > 0)
    rarer = tested["n_tested"].cum_sum() - tested["n_tested"]
    strata = tested.select(
        "tail_frequency", stratum=1 + (N_STRATA * rarer / tested["n_tested"].sum()).floor()
    )
    # A tail that cannot be tested belongs to the next stratum of rarer ones, or else to the first.
    placed = sums.join_asof(strata, on="tail_frequency").with_columns(
        pl.col("stratum").fill_null(strategy="backward").cast(pl.Int64)
    )
    return placed.select("tail_frequency", "stratum", stratum_size=pl.col("chance").sum().over("stratum"))
