"""Frequency of a head and of a tail in the base, and commonness of the tail among its facts.

The draw cannot keep every fact: a tail that most heads have is false of too few heads, and a head whose
name betrays its tail is left out. So the tested facts are not a random part of the base, and the warehouse
weighs them by how common their tails are in the base (warehouse/estimated/weighted_accuracy.sql).

The population is one fact of every head, and each of its facts has the same chance. It contains the general
tails that are not asked.
"""

from collections.abc import Iterable

import polars as pl

from tasks.drawing.relation_facts import PAIR, RelationFacts

COMPARED = ("head", "head_frequency", "tail_frequency")


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


def compare_with_base(facts: RelationFacts, tested: Iterable[pl.DataFrame]) -> dict[str, float | None]:
    """Return how the tested facts of a relation differ from those of the base, as JSON.

    tails_per_head, heads_per_tail and head_length, the letters of the name of the head, are means over the
    population; with `tested_` before them, over the true test triplets; null if there are none.

    Args:
        tested: the true test triplets of each piece of the relation, with the columns of COMPARED.
    """
    heads, tails = count_facts(facts)
    pairs = facts.rows.select(PAIR).unique().join(heads, on="head").join(tails, on="tail")
    of_tested = pl.concat(tested).with_columns(weight=pl.lit(1.0))
    of_base = pairs.select(*COMPARED, weight=1 / pl.col("head_frequency"))
    measures = {
        "tails_per_head": pl.col("head_frequency"),
        "heads_per_tail": pl.col("tail_frequency"),
        "head_length": pl.col("head").str.len_chars(),
    }
    return {
        f"{prefix}{name}": None if rows.is_empty() else rows.select(_average(measure)).item()
        for name, measure in measures.items()
        for prefix, rows in (("", of_base), ("tested_", of_tested))
    }


def _average(measure: pl.Expr) -> pl.Expr:
    return ((measure * pl.col("weight")).sum() / pl.col("weight").sum()).round(2)
