"""Bases in the format of DiseK (MultifacetEval, Zhou et al., IJCAI 2024): disease, aspect, attributes.

DiseK itself is not public. Users who have it, or a similar base, provide one table (CSV, TSV, JSON lines or
Parquet) with the columns disease, aspect and attributes, and optionally disease_id and also_true. There are
one or more rows per disease and aspect. The attributes are a list, or a text joined by " || ". See
docs/disek.md.
"""

from pathlib import Path

import polars as pl

from pretexeval.knowledge.names import fold_name
from pretexeval.knowledge.rows import ALIAS_SEPARATOR, Source, build_source_rows
from pretexeval.knowledge.tables import read_table
from pretexeval.primitives.errors import InputError

REQUIRED = ("disease", "aspect", "attributes")
OPTIONAL = ("disease_id", "also_true")
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
    if path.is_dir():
        raise InputError(f"{path} is not a table in DiseK's format: give one file")
    rows = read_table(path, REQUIRED, OPTIONAL)
    missing = [pl.lit(None, pl.String).alias(name) for name in OPTIONAL if name not in rows.columns]
    return Source(build_source_rows(path, _split_attributes(rows.with_columns(missing))))


def _split_attributes(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per attribute. A row with a problem stays one row, without attributes."""
    attributes = pl.col("attributes").str.split(ALIAS_SEPARATOR).list.eval(pl.element().str.strip_chars())
    has_empty = attributes.list.contains("").fill_null(value=True)
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
        .when(has_empty)
        .then(pl.lit(f"an attribute is empty: name it, or remove one {ALIAS_SEPARATOR}"))
    )
    relations = {name: find_relation(name) for name in rows["aspect"].drop_nulls().unique()}
    relation = pl.col("aspect").replace_strict(relations, default=None, return_dtype=pl.String)
    checked = rows.with_columns(relation.alias("relation")).with_columns(
        pl.coalesce("problem", problem).alias("problem")
    )
    is_wrong = pl.col("problem").is_not_null()
    no_attributes = pl.lit(None, pl.List(pl.String))
    return (
        checked.with_columns(pl.when(is_wrong).then(no_attributes).otherwise(attributes).alias("attributes"))
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
