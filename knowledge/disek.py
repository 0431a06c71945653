"""Bases in the format of DiseK (MultifacetEval, Zhou et al., IJCAI 2024): disease, aspect, attributes.

DiseK itself is not public. Users who have it, or a similar base, provide one table (CSV, TSV, JSON lines or
Parquet) with the columns disease, aspect and attributes, and optionally disease_id and also_true. There are
one or more rows per disease and aspect. The attributes are a list, or a text joined by " || ". See
docs/disek.md.
"""

from pathlib import Path

import polars as pl

from knowledge.base import KnowledgeBase
from knowledge.disek_files import ATTRIBUTE_SEPARATOR, OPTIONAL, READERS
from knowledge.rows import Source, build_source_rows
from knowledge.spelling import fold_name
from primitives.errors import InputError

# Relation -> names of its aspect: first the papers' name (PretexEval, table 5), then synonyms. Case,
# punctuation and a final s are ignored in comparisons.
ASPECTS = {
    "symptoms": ("Symptoms", "Clinical symptoms", "Clinical manifestations", "Signs and symptoms"),
    "affected_sites": ("Affected Sites", "Affected body parts", "Sites", "Body parts", "Lesion sites"),
    "therapeutic_drugs": ("Therapeutic Drugs", "Drugs", "Medications", "Medicines", "Drug therapy"),
    "surgical_procedures": ("Surgical Procedures", "Surgeries", "Surgery", "Operations", "Procedures"),
}


def read_disek(path: Path) -> Source:
    """Return the rows of a table in DiseK's format as unchecked triplets, one per attribute.

    Raises:
        InputError: the file is not such a table, or it cannot be read.
    """
    reader = READERS.get(path.suffix.lower())
    if path.is_dir() or reader is None:
        raise InputError(f"{path} is not a table in DiseK's format: give one file with {', '.join(READERS)}")
    rows = reader(path)
    missing = [pl.lit(None, pl.String).alias(name) for name in (*OPTIONAL, "problem") if name not in rows]
    return Source(build_source_rows(path, _split_attributes(rows.with_columns(missing))))


def build_disek_table(base: KnowledgeBase) -> pl.DataFrame:
    """Return the base's DiseK relations: disease, disease_id, aspect, attributes (a list) and also_true.

    One row per disease and aspect, plus one row for attributes that are true but not tested.

    Raises:
        InputError: the base has none of the four relations, or its tails have ids or rows are marked
            also_false, for which the format has no column.
    """
    rows = base.triplets.filter(pl.col("relation").is_in(list(ASPECTS)))
    if rows.is_empty():
        raise InputError(f"knowledge base {base.name!r} has none of the relations {', '.join(ASPECTS)}")
    if (identified := rows.filter(pl.col("tail_id").is_not_null())).height:
        raise InputError(
            f"knowledge base {base.name!r} has ids of tails ({identified['tail'][0]}: "
            f"{identified['tail_id'][0]}), for which DiseK's format has no column: remove them first"
        )
    if (false := base.also_false.filter(pl.col("relation").is_in(list(ASPECTS)))).height:
        raise InputError(
            f"knowledge base {base.name!r} has rows marked also_false ({false['head'][0]}: "
            f"{false['tail'][0]}), for which DiseK's format has no column: remove them first"
        )
    position = {relation: index for index, relation in enumerate(ASPECTS)}
    aspect = pl.col("relation").replace_strict({relation: names[0] for relation, names in ASPECTS.items()})
    return (
        rows.with_columns(pl.col("relation").replace_strict(position).alias("position"))
        .sort("head", "head_id", "position", "also_true", "tail", nulls_last=True)
        .with_columns(aspect.alias("aspect"))
        .group_by("head", "head_id", "aspect", "also_true", maintain_order=True)
        .agg(pl.col("tail").alias("attributes"))
        .select(
            pl.col("head").alias("disease"),
            pl.col("head_id").alias("disease_id"),
            "aspect",
            "attributes",
            "also_true",
        )
    )


def _split_attributes(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per attribute. A row with a problem stays one row, without attributes."""
    attributes = pl.col("attributes").list.eval(pl.element().str.strip_chars())
    is_empty = attributes.list.eval(pl.element().is_null() | (pl.element() == "")).list.any()
    problem = (
        pl.when(pl.col("disease").fill_null("").str.strip_chars() == "")
        .then(pl.lit("the disease is empty: name it or delete the row"))
        .when(pl.col("relation").is_null())
        .then(
            pl.format(
                "aspect '{}' is not one of {}: rename it or delete the row",
                pl.col("aspect").fill_null(""),
                pl.lit(", ".join(names[0] for names in ASPECTS.values())),
            )
        )
        .when(attributes.is_null() | (attributes.list.len() == 0))
        .then(pl.lit("has no attributes: name them or delete the row"))
        .when(is_empty)
        .then(pl.lit(f"an attribute is empty: name it, or remove one {ATTRIBUTE_SEPARATOR}"))
    )
    relations = {name: find_relation(name) for name in rows["aspect"].drop_nulls().unique()}
    relation = pl.col("aspect").replace_strict(relations, default=None, return_dtype=pl.String)
    checked = rows.with_columns(relation.alias("relation")).with_columns(
        pl.coalesce("problem", problem).alias("problem")
    )
    is_wrong = pl.col("problem").is_not_null()
    no_attributes = pl.lit(None, pl.List(pl.String))
    return (
        checked.with_columns(
            pl.when(is_wrong).then(no_attributes).otherwise("attributes").alias("attributes")
        )
        .explode("attributes")
        .rename({"disease": "head", "disease_id": "head_id", "attributes": "tail"})
    )


def find_relation(aspect: str) -> str | None:
    """Return the relation that an aspect names, or None."""
    return _RELATIONS.get(_fold_aspect(aspect))


def _fold_aspect(name: str) -> str:
    return " ".join(word.removesuffix("s") for word in fold_name(name).split())


_RELATIONS = {
    _fold_aspect(name): relation for relation, names in ASPECTS.items() for name in (relation, *names)
}
