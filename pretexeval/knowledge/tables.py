"""Readers of tables: CSV, TSV, JSON lines or Parquet; and of triplets in one such file or a folder of files.

The columns of triplets are head, relation and tail, and optionally head_id, tail_id, also_true and also_false
(true or false), head_aliases and tail_aliases (names joined by ||, or a list if the file format has lists).
Other columns, such as source, are ignored.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.rows import (
    ALIAS_SEPARATOR,
    ALIASES,
    MARKS,
    Source,
    build_source_rows,
    parse_json,
    read_text,
    require_columns,
)
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import list_parquet_columns, read_parquet
from pretexeval.primitives.untrusted_text import replace_surrogates


def read_delimited(
    path: Path, delimiter: str, required: Sequence[str], optional: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the named columns as text, with `row` (the line, from 1) and `problem`. Blank lines are skipped.

    Raises:
        InputError: a column is missing, the file is not UTF-8, or a quotation mark is misplaced.
    """
    records = _iterate_records(path, delimiter)
    _, header = next(records, (1, []))
    names = [name.strip() for name in header]
    require_columns(path, names, required)
    lines, fields, problems = _collect_fields(records, len(names))
    wanted = [name for name in (*required, *optional) if name in names]
    columns: dict[str, list[str]] = {}
    for name in wanted:
        position = names.index(name)
        columns[name] = [record[position] for record in fields]
    return pl.DataFrame(
        {**columns, "row": lines, "problem": problems},
        schema={**dict.fromkeys(wanted, pl.String), "row": pl.Int64, "problem": pl.String},
    )


def _collect_fields(
    records: Iterator[tuple[int, list[str]]], width: int
) -> tuple[list[int], list[list[str]], list[str | None]]:
    """Return line, fields and problem of each record. A record of another width is cut or padded."""
    lines: list[int] = []
    fields: list[list[str]] = []
    problems: list[str | None] = []
    for line, record in records:
        is_whole = len(record) == width
        lines.append(line)
        fields.append(record if is_whole else (record + [""] * width)[:width])
        problems.append(None if is_whole else _describe_width(len(record), width))
    return lines, fields, problems


def _describe_width(found: int, expected: int) -> str:
    return f"has {found} fields where the header has {expected}: fix the separators or the quotes"


def _iterate_records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record starts and its fields. Empty records are skipped."""
    lines = io.StringIO(read_text(path), newline="")
    if delimiter == "\t":
        # Most tab-separated files do not use quoting, and names may contain quotation marks: see _unquote.
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            if any(map(str.strip, record)):
                yield line, [_unquote(c) for c in record] if delimiter == "\t" else record
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: {_describe_error(error, delimiter)}") from error


def _describe_error(error: csv.Error, delimiter: str) -> str:
    if not str(error).startswith("field larger than"):
        return f"{error}: a quotation mark is misplaced or left open (inside a quoted field, write it twice)"
    advice = "" if delimiter == "\t" else ", or close a quotation mark that is left open"
    return f"a field has more than {csv.field_size_limit():,} characters: shorten it{advice}"


def _unquote(cell: str) -> str:
    """Return the cell without the quotes that a spreadsheet put around it. Other quotes stay."""
    if not cell.startswith('"'):
        return cell
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if is_quoted else cell


REQUIRED = ("head", "relation", "tail")
OPTIONAL = ("head_id", "tail_id", *MARKS, *ALIASES)
LISTS = (*ALIASES, "attributes")
"""Columns that may hold lists of texts, which are joined by ALIAS_SEPARATOR."""


def read_tables(path: Path) -> Source:
    """Return the unchecked rows of a table, or of all tables in a folder.

    Raises:
        InputError: there is no table, or a table cannot be read.
    """
    if not path.is_dir():
        return Source(build_source_rows(path, read_table(path)))
    files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    tables = [p for p in files if p.suffix.lower() in READERS]
    if not tables:
        raise InputError(f"{path} holds no table of triplets; allowed: {', '.join(READERS)}")
    others = (str(replace_surrogates(p.name)) for p in files if p not in tables)
    skipped = (LeftOut(name, "file", f"not one of {', '.join(READERS)}") for name in others)
    return Source(pl.concat(build_source_rows(p, read_table(p)) for p in tables), tuple(skipped))


def read_table(
    path: Path, required: Sequence[str] = REQUIRED, optional: Sequence[str] = OPTIONAL
) -> pl.DataFrame:
    """Return the named columns of one file as text, with `row` and `problem`. Its extension names its format.

    Raises:
        InputError: the file is no table that can be read, or lacks a required column.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} has the extension {path.suffix!r}; a table has one of {', '.join(READERS)}")
    return reader(path, required, optional)


def _read_csv(path: Path, required: Sequence[str], optional: Sequence[str]) -> pl.DataFrame:
    return read_delimited(path, ",", required, optional)


def _read_tsv(path: Path, required: Sequence[str], optional: Sequence[str]) -> pl.DataFrame:
    return read_delimited(path, "\t", required, optional)


def _read_json_lines(path: Path, required: Sequence[str], optional: Sequence[str]) -> pl.DataFrame:
    """One row per line that is not blank. A line that is not a JSON object of texts gets a problem."""
    names = (*required, *optional)
    lines = enumerate(read_text(path).split("\n"), start=1)
    records = [(*_parse_line(text, names), line) for line, text in lines if text.strip()]
    schema = {**dict.fromkeys((*names, "problem"), pl.String), "row": pl.Int64}
    return pl.DataFrame(records, schema=schema, orient="row")


def _parse_line(text: str, names: Sequence[str]) -> list[str | None]:
    """Return the values of one JSON object in the order of the names, then its problem or None."""
    empty: list[str | None] = [None] * len(names)
    try:
        record = parse_json(text)
    except (ValueError, RecursionError) as error:
        return [*empty, f"is not JSON ({error}): write one JSON object per line"]
    if not isinstance(record, dict):
        return [*empty, "is not a JSON object: write one object per line"]
    values = [_as_text(name, record.get(name)) for name in names]
    for name, value in zip(names, values, strict=True):
        if value is None and record.get(name) is not None:
            wanted = "a list of texts" if name in LISTS else "text"
            return [*empty, f"{name} is {json.dumps(record[name])}: write it as {wanted}"]
    return [*values, None]


def _as_text(name: str, value: object) -> str | None:
    """Return the value as text, or None. Only ids may be numbers, marks booleans, and LISTS lists."""
    if name in LISTS and isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ALIAS_SEPARATOR.join(value)
    if name in MARKS and isinstance(value, bool):
        return "true" if value else "false"
    if _is_id(name) and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def _read_parquet(path: Path, required: Sequence[str], optional: Sequence[str]) -> pl.DataFrame:
    rows = store_as_text(path, read_parquet_columns(path, required, optional)).with_row_index("row")
    return rows.with_columns(pl.lit(None, pl.String).alias("problem"))


def store_as_text(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return typed columns as text: ids may be integers, marks booleans, and LISTS lists of texts.

    Raises:
        InputError: a column is of another type.
    """
    lists = [name for name in LISTS if frame.schema.get(name) == pl.List(pl.String)]
    frame = frame.with_columns(pl.col(lists).list.join(ALIAS_SEPARATOR, ignore_nulls=True))
    for name, dtype in frame.schema.items():
        is_other = (_is_id(name) and dtype.is_integer()) or (name in MARKS and dtype == pl.Boolean)
        if not is_other and dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise InputError(f"{path}: column {name} is of type {dtype}: store it as text")
    return frame.cast(pl.String)


def read_parquet_columns(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Return the required columns of a Parquet file, and the optional columns that it has.

    Raises:
        InputError: the file is not Parquet, or a required column is missing.
    """
    try:
        found = list_parquet_columns(path)
        require_columns(path, found, required)
        wanted = [name for name in (*required, *optional) if name in found]
        return read_parquet(path, wanted)
    except (OSError, pl.exceptions.PolarsError) as error:
        cause = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet: {cause}") from error


READERS: dict[str, Callable[[Path, Sequence[str], Sequence[str]], pl.DataFrame]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
