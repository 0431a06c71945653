"""Bases in the format of DiseK (MultifacetEval, Zhou et al., IJCAI 2024): disease, aspect, attributes.

DiseK itself is not public. Users who have it, or a similar base, provide one table (CSV, TSV, JSON lines or
Parquet) with the columns disease, aspect and attributes, and optionally disease_id and also_true. There are
one or more rows per disease and aspect. The attributes are a list, or a text joined by " || ". See
docs/disek.md.
"""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.names import fold_name
from pretexeval.knowledge.rows import Source, build_source_rows, parse_json, read_text
from pretexeval.knowledge.tables import read_delimited, read_parquet_columns
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import write_atomically

REQUIRED = ("disease", "aspect", "attributes")
OPTIONAL = ("disease_id", "also_true")
# Separates the attributes if they are one text.
ATTRIBUTE_SEPARATOR = "||"
_TEXT = (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _read_delimited(path: Path, delimiter: str) -> pl.DataFrame:
    rows = read_delimited(path, delimiter, REQUIRED, OPTIONAL)
    return rows.with_columns(pl.col("attributes").str.split(ATTRIBUTE_SEPARATOR))


def _read_parquet(path: Path) -> pl.DataFrame:
    rows = read_parquet_columns(path, REQUIRED, OPTIONAL)
    for name, dtype in rows.schema.items():
        is_list = name == "attributes" and isinstance(dtype, pl.List) and dtype.inner in _TEXT
        is_id = name == "disease_id" and dtype.is_integer()
        is_truth = name == "also_true" and dtype == pl.Boolean
        if not (dtype in _TEXT or is_list or is_id or is_truth):
            raise InputError(f"{path}: column {name} is of type {dtype}: store it as text")
    attributes = pl.col("attributes")
    is_text = not isinstance(rows.schema["attributes"], pl.List)
    listed = (
        attributes.cast(pl.String).str.split(ATTRIBUTE_SEPARATOR)
        if is_text
        else attributes.cast(pl.List(pl.String))
    )
    return rows.with_columns(pl.all().exclude("attributes").cast(pl.String), listed).with_row_index("row")


def _read_json_lines(path: Path) -> pl.DataFrame:
    """One row per line that is not blank. A line that is not a valid row gets a problem."""
    names = ("disease", "aspect", "disease_id", "also_true", "problem")
    others = (("attributes", pl.List(pl.String())), ("row", pl.Int64()))
    lines = enumerate(read_text(path).split("\n"), start=1)
    records = [{**_parse_line(text), "row": line} for line, text in lines if text.strip()]
    return pl.DataFrame(records, schema=pl.Schema([*((name, pl.String()) for name in names), *others]))


def _parse_line(text: str) -> dict[str, object]:
    """Return the values of one JSON object, or a problem."""
    try:
        record = parse_json(text)
    except (ValueError, RecursionError) as error:
        return {"problem": f"is not JSON ({error}): write one JSON object per line"}
    if not isinstance(record, dict):
        return {"problem": "is not a JSON object: write one object per line"}
    given = {name: record[name] for name in (*REQUIRED, *OPTIONAL) if record.get(name) is not None}
    values = {name: _parse_value(name, value) for name, value in given.items()}
    for name, value in values.items():
        if value is None:
            wanted = "a list of texts" if name == "attributes" else "text"
            return {"problem": f"{name} is {json.dumps(given[name])}: write it as {wanted}"}
    return dict(values)


def _parse_value(name: str, value: object) -> object:
    """Return the value in the form of its column, or None if it has another type."""
    if name == "attributes":
        parts = value.split(ATTRIBUTE_SEPARATOR) if isinstance(value, str) else value
        is_listed = isinstance(parts, list) and all(isinstance(part, str) for part in parts)
        return parts if is_listed else None
    if name == "also_true" and isinstance(value, bool):
        return "true" if value else "false"
    if name == "disease_id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": lambda path: _read_delimited(path, ","),
    ".tsv": lambda path: _read_delimited(path, "\t"),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}


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


def write_disek(base: KnowledgeBase, path: Path) -> Path:
    """Write the base's four DiseK relations as one table, and return its path.

    The extension chooses the file format. `read_disek` reads the same triplets back.

    Raises:
        InputError: the extension is unknown, the base does not fit the format, or an attribute contains the
            separator of a text format.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path} has the extension {path.suffix!r}; allowed: {', '.join(WRITERS)}")
    table = build_disek_table(base)
    with write_atomically(path) as aside:
        writer(table, aside)
    return path


def _write_csv(table: pl.DataFrame, path: Path) -> None:
    _join_attributes(table).write_csv(path)


def _write_tsv(table: pl.DataFrame, path: Path) -> None:
    _join_attributes(table).write_csv(path, separator="\t")


def _write_json_lines(table: pl.DataFrame, path: Path) -> None:
    table.write_ndjson(path)


def _write_parquet(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path)


def _join_attributes(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the attributes of each row joined to one text."""
    names = table["attributes"].explode()
    if unfit := names.filter(names.str.contains(ATTRIBUTE_SEPARATOR, literal=True)).to_list():
        raise InputError(
            f"attribute {unfit[0]!r} contains {ATTRIBUTE_SEPARATOR}, which separates attributes in CSV and "
            "TSV: write .jsonl or .parquet"
        )
    return table.with_columns(pl.col("attributes").list.join(f" {ATTRIBUTE_SEPARATOR} "))


WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}
