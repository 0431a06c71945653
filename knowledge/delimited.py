"""Reader of comma- and tab-separated text that keeps line numbers, so that errors can name them."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from knowledge.rows import read_text, require_columns
from primitives.errors import InputError


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
