"""Stage variants: the eight predicate variants of every triplet (method, 2.3)."""

import polars as pl

from pretexeval.primitives.mixing import combine, hash_column, read_ids, write_ids
from schemas.stages import VARIANTS
from schemas.transformations import TRANSFORMATIONS, Transformation

VARIANTS_VERSION = 2
"""Count it up when the function gives other rows for the same arguments."""


def derive_variants(
    triplets: pl.DataFrame, instance: tuple[str, str], *, is_possibility: bool
) -> pl.DataFrame:
    """Return eight rows per triplet, in the order of the transformations. A denial flips the label.

    Args:
        instance: the names of the predicates P(X, x) and Q(x, Y) into which the relation is instantiated.
        is_possibility: whether the relation says what may be the case.
    """
    parts = [
        triplets.select(
            pl.lit(t.name).alias("transformation"),
            _build_predicate(t, instance, is_possibility).alias("predicate"),
            (pl.col("is_positive") != t.is_negated).alias("label"),
            pl.lit(rank).alias("rank"),
            "triplet_id",
            "pair_id",
            "relation",
            "split",
        ).with_row_index("row")
        for rank, t in enumerate(TRANSFORMATIONS)
    ]
    variants = pl.concat(parts).sort("row", "rank")
    transformations = hash_column(variants["transformation"])
    ids = write_ids(combine("variant", read_ids(variants["triplet_id"]), transformations))
    return variants.with_columns(ids.alias("variant_id")).select(VARIANTS.names)


def _build_predicate(
    transformation: Transformation, instance: tuple[str, str], is_possibility: bool
) -> pl.Expr:
    """Return the predicate: R(A, B), R⁻¹(B, A), P(A, x) ⇒ Q(x, B), Q(x, B) ⇒ ◇P(A, x), or ¬ of one.

    ◇ marks what is only possible: Q(x, B) in a relation of possibility, and P(A, x) always, because what
    holds of B need not come from A.
    """
    head, tail = pl.col("head"), pl.col("tail")
    if transformation.is_instantiated:
        first = pl.format(instance[0] + "({}, x)", head)
        second = pl.format(instance[1] + "(x, {})", tail)
        premise, conclusion = (second, first) if transformation.is_inverted else (first, second)
        is_possible = is_possibility or transformation.is_inverted
        expression = pl.format("{} ⇒ ◇{}" if is_possible else "{} ⇒ {}", premise, conclusion)
    elif transformation.is_inverted:
        expression = pl.format("{}⁻¹({}, {})", pl.col("relation"), tail, head)
    else:
        expression = pl.format("{}({}, {})", pl.col("relation"), head, tail)
    return pl.format("¬({})", expression) if transformation.is_negated else expression
