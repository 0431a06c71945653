"""Stage statements: every variant in the words of its prototype (method, 2.4)."""

import polars as pl

from primitives.hashing import hash_text
from prototypes.templates import RelationPrototypes
from schemas.stages import STATEMENTS


def fill_prototypes(
    variants: pl.DataFrame, triplets: pl.DataFrame, prototypes: RelationPrototypes
) -> pl.DataFrame:
    """One row per variant: its prototype with both slots filled in one pass."""
    names = prototypes.cells.keys()
    templates = {name: prototypes.cells[name].prototype for name in names}
    ids = {name: hash_text("prototype", prototypes.relation, name, templates[name]) for name in names}
    entities = triplets.select("triplet_id", "head", "tail")
    return (
        variants.join(entities, on="triplet_id", how="left", maintain_order="left_right")
        .with_columns(
            pl.col("transformation").replace_strict(templates).alias("template"),
            pl.col("transformation").replace_strict(ids).alias("prototype_id"),
        )
        .with_columns(fill_template(pl.col("template")).alias("statement"))
        .select(STATEMENTS.names)
    )


def fill_template(template: pl.Expr) -> pl.Expr:
    """The template with [X] and [Y] replaced by the columns head and tail, in one pass.

    The template is cut at its slots before any name is put in, since names may hold `[X]` themselves.
    """
    starts_with_head = template.str.find(r"[X]", literal=True) < template.str.find(r"[Y]", literal=True)
    cut = template.str.replace_many(["[X]", "[Y]"], ["\x00", "\x00"]).str.splitn("\x00", 3)
    first = pl.when(starts_with_head).then(pl.col("head")).otherwise(pl.col("tail"))
    second = pl.when(starts_with_head).then(pl.col("tail")).otherwise(pl.col("head"))
    return pl.concat_str(
        cut.struct.field("field_0"),
        first,
        cut.struct.field("field_1"),
        second,
        cut.struct.field("field_2"),
    )


def join_entities(statements: pl.DataFrame, triplets: pl.DataFrame) -> pl.DataFrame:
    """The statements with head and tail of their triplet beside them."""
    entities = triplets.select("triplet_id", "head", "tail")
    return statements.join(entities, on="triplet_id", how="left", maintain_order="left")
