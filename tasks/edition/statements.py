"""Stage statements: every variant as a sentence, from its prototype (method, 2.4)."""

import polars as pl

from primitives.hashing import hash_text
from prototypes.templates import RelationPrototypes
from schemas.stages import STATEMENTS
from tasks.edition.sentences import write_sentences

STATEMENTS_VERSION = 1
"""Count it up when the function gives other rows for the same arguments."""


def fill_prototypes(
    variants: pl.DataFrame, triplets: pl.DataFrame, prototypes: RelationPrototypes
) -> pl.DataFrame:
    """Return one row per variant: its prototype with both slots filled in one pass."""
    names = prototypes.cells.keys()
    templates = {name: prototypes.cells[name].prototype for name in names}
    ids = {name: hash_text("prototype", prototypes.relation, name, templates[name]) for name in names}
    entities = triplets.select("triplet_id", "head", "tail")
    rows = variants.join(entities, on="triplet_id", how="left", maintain_order="left_right").with_columns(
        pl.col("transformation").replace_strict(templates).alias("template"),
        pl.col("transformation").replace_strict(ids).alias("prototype_id"),
    )
    return rows.with_columns(write_sentences(rows).alias("statement")).select(STATEMENTS.names)


def join_entities(statements: pl.DataFrame, triplets: pl.DataFrame) -> pl.DataFrame:
    """Return the statements with the columns head and tail of their triplets."""
    entities = triplets.select("triplet_id", "head", "tail")
    return statements.join(entities, on="triplet_id", how="left", maintain_order="left")
