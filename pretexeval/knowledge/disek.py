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
from pretexeval.knowledge.tables import read_table, split_lists
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
    names = {"disease": "head", "disease_id": "head_id", "attributes": "tail"}
    rows = read_table(path, REQUIRED, OPTIONAL).rename(names, strict=False)
    relations = {name: find_relation(name) for name in rows["aspect"].drop_nulls().unique()}
    relation = pl.col("aspect").replace_strict(relations, default=None, return_dtype=pl.String)
    listed = ", ".join(names[0] for names in ASPECTS.values())
    problem = f"aspect '{{}}' is not one of {listed}: rename it or delete the row"
    named = rows.with_columns(
        relation=relation,
        problem=pl.coalesce(
            "problem", pl.when(relation.is_null()).then(pl.format(problem, pl.col("aspect").fill_null("")))
        ),
    )
    return Source(build_source_rows(path, split_lists(named, {"tail": ALIAS_SEPARATOR})))


def find_relation(aspect: str) -> str | None:
    """Return the relation that an aspect names, or None."""
    return _RELATIONS.get(_fold_aspect(aspect))


def _fold_aspect(name: str) -> str:
    return " ".join(word.removesuffix("s") for word in fold_name(name).split())


_RELATIONS = {
    _fold_aspect(name): relation for relation, names in ASPECTS.items() for name in (relation, *names)
}
