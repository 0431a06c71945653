"""Render the result of a query as a table for the console, as CSV, as JSON or as Markdown."""

import csv
import io
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from primitives.errors import InputError
from primitives.untrusted_text import escape_cell, escape_controls, escape_line
from report.column_choice import choose_columns
from report.console import align, is_number

Row = tuple[Any, ...]


def render_rows(columns: Sequence[str], rows: Sequence[Row], form: str, *, is_wide: bool = False) -> str:
    """Return the rows as a table, CSV, JSON (a list of objects) or Markdown; control characters are escaped.

    A text in CSV is no formula for a spreadsheet. Numbers in JSON are numbers, and null where they are not
    finite.

    Args:
        form: table, csv, json or markdown.
        is_wide: whether a table has all columns, also where they do not fit a terminal.

    Raises:
        InputError: two columns have one name, which JSON cannot express.
    """
    if form == "json":
        require_distinct(columns)
        objects = [dict(zip(columns, map(_convert_value, row), strict=True)) for row in rows]
        return escape_controls(json.dumps(objects, indent=2, ensure_ascii=False, default=str))
    if form == "csv":
        text = io.StringIO()
        cells = [[escape_cell(value) if isinstance(value, str) else value for value in row] for row in rows]
        csv.writer(text, lineterminator="\n").writerows([list(map(escape_cell, columns)), *cells])
        return text.getvalue().rstrip("\n")
    texts = [[_format_value(value) for value in row] for row in rows]
    if form == "markdown":
        return _render_markdown(columns, texts)
    return _render_table(columns, texts, is_wide=is_wide)


def require_distinct(columns: Sequence[str]) -> None:
    """Raise InputError if two columns have one name."""
    if repeated := sorted({name for name in columns if columns.count(name) > 1}):
        raise InputError(
            f'two columns of the result are named {repeated[0]}: give one another name (`… as "name"`)'
        )


def _convert_value(value: object) -> object:
    """Return a value that JSON can express; null for nan and infinity."""
    if isinstance(value, dict):
        return {str(key): _convert_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_convert_value(part) for part in value]
    if isinstance(value, Decimal):
        value = float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else str(value)


def _render_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, is_wide: bool) -> str:
    columns, rows = list(map(escape_line, columns)), [list(map(escape_line, cells)) for cells in rows]
    chosen = list(range(len(columns))) if is_wide else choose_columns(columns, rows)
    table = align([columns[i] for i in chosen], [[cells[i] for i in chosen] for cells in rows])
    if len(chosen) == len(columns):
        return table
    return f"{table}\n\n{len(chosen)} of {len(columns)} columns; --wide shows all of them"


def _render_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rights = [bool(rows) and all(map(is_number, cells)) for cells in zip(*rows, strict=True)]
    marks = ["---:" if right else "---" for right in rights] or ["---"] * len(columns)
    lines = [list(map(_escape_markdown, cells)) for cells in (columns, *rows)]
    lines.insert(1, marks)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _escape_markdown(cell: str) -> str:
    """Return the text on one line, without HTML and without an end of its cell."""
    for mark, escaped in (("\\", "\\\\"), ("|", "\\|"), ("&", "&amp;"), ("<", "&lt;"), ("`", "\\`")):
        cell = cell.replace(mark, escaped)
    return escape_line(cell)
