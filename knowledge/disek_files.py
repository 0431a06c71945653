"""Readers of files in DiseK's format (CSV, TSV, JSON lines, Parquet): texts, and a list of attributes."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from knowledge.delimited import read_delimited
from knowledge.rows import parse_json, read_text
from knowledge.tables import read_parquet_columns
from primitives.errors import InputError

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
