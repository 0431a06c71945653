"""Tables on the console: the rows of a result as text that fits the terminal, or in a format for programs."""

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.untrusted_text import escape_cell, escape_controls, escape_line

Row = tuple[Any, ...]
WIDTH = 100
"""The width into which columns are chosen where there is no terminal, in characters."""
UNLIMITED = 100_000
N_ROWS_SHOWN = 500
"""Rows of a table at most: laying out a row takes 2 ms, and nobody reads more of them."""
# Results with so few columns were chosen by whoever wrote the query, so all of them are shown.
N_ALWAYS_SHOWN = 10
# The columns of views that a reader needs first, in this order.
KEY_COLUMNS = (
    "rank",
    "model",
    "model_a",
    "model_b",
    "relation",
    "transformation",
    "head",
    "average_accuracy",
    "mastery",
    "edition_id",
    "method",
    "scoring_policy",
    "setting",
    "repeat",
    "average_accuracy_ci_low",
    "average_accuracy_ci_high",
    "no_answer_rate",
    "n_pairs",
)
# These columns say little if they have one value in all rows.
FACTORS = ("edition_id", "method", "scoring_policy", "setting", "repeat")


def align(columns: Sequence[str], rows: Sequence[Sequence[str]], *, is_markdown: bool = False) -> str:
    """Return the rows as a table with aligned columns; columns of numbers are aligned to the right.

    In a terminal, long cells are wrapped so that the table fits; elsewhere, every row is one line. Control
    characters are escaped, so that no cell can end its line or change the terminal.
    """
    from rich.box import MARKDOWN, Box
    from rich.console import Console
    from rich.table import Table

    rule = Box("    \n    \n -  \n    \n    \n    \n    \n    \n", ascii=True)
    table = Table(
        box=MARKDOWN if is_markdown else rule,
        show_edge=is_markdown,
        pad_edge=is_markdown,
        padding=(0, 1) if is_markdown else (0, 1, 0, 0),
    )
    for place, name in enumerate(columns):
        is_right = bool(rows) and all(_is_number(row[place]) for row in rows)
        table.add_column(escape_line(name), justify="right" if is_right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape_line, row))
    width = UNLIMITED if is_markdown else _find_width(UNLIMITED)
    console = Console(width=width, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().removesuffix("\n").split("\n")]
    if is_markdown:
        # The edges are empty lines.
        return "\n".join(lines[1:-1])
    # The line below the names fills the padding, too.
    lines[1] = lines[1].replace("- -", "  -")
    return "\n".join(lines)


def _find_width(otherwise: int) -> int:
    """Return the width of the terminal; the other one if the output is not a terminal."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal else otherwise


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, a share with its interval, or empty."""
    return cell.strip("-+%[] ").replace(".", "").replace(",", "").replace(" ", "").isdigit() or not cell


def fit_columns(columns: Sequence[str], rows: Sequence[Sequence[str]], order: Sequence[int]) -> list[int]:
    """Return the places of the columns that fit the terminal together, in the order of the table.

    Args:
        order: the places, the most important one first, which is chosen in any case.
    """
    width = _find_width(WIDTH)
    chosen: list[int] = []
    for place in order:
        needed = max(map(len, [columns[place], *(row[place] for row in rows)])) + 2
        if not chosen or needed <= width + 2:
            chosen.append(place)
            width -= needed
    return sorted(chosen)


def render_rows(columns: Sequence[str], rows: Sequence[Row], form: str, *, is_wide: bool = False) -> str:
    """Return the rows as a table, CSV, JSON (a list of objects) or Markdown; control characters are escaped.

    A text in CSV is no formula for a spreadsheet. Numbers in JSON are numbers, and null where they are not
    finite. A table has at most N_ROWS_SHOWN rows.

    Args:
        form: table, csv, json or markdown.
        is_wide: whether a table has all columns, also where they do not fit the terminal.

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
    if form == "markdown":
        texts = [[_escape_markdown(_format_value(value)) for value in row] for row in rows]
        return align(list(map(_escape_markdown, columns)), texts, is_markdown=True)
    return _render_table(columns, rows, is_wide=is_wide)


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


def _render_table(columns: Sequence[str], rows: Sequence[Row], *, is_wide: bool) -> str:
    """Return the first rows, with all columns or the key columns that fit; notes say what is left out."""
    texts = [[escape_line(_format_value(value)) for value in row] for row in rows[:N_ROWS_SHOWN]]
    chosen = list(range(len(columns)))
    if not is_wide and len(columns) > N_ALWAYS_SHOWN:
        ranks = {name: rank for rank, name in enumerate(KEY_COLUMNS)}

        def rank_column(place: int) -> tuple[bool, int, int]:
            name = columns[place]
            is_constant = name in FACTORS and len({row[place] for row in texts}) <= 1
            return is_constant or name == "model_id", ranks.get(name, len(ranks)), place

        chosen = fit_columns(columns, texts, sorted(chosen, key=rank_column))
    notes = []
    if len(chosen) < len(columns):
        notes.append(f"{len(chosen)} of {len(columns)} columns; --wide shows all of them")
    if len(texts) < len(rows):
        notes.append(f"{len(texts):,} of {len(rows):,} rows; --format csv prints all of them")
    table = align([columns[i] for i in chosen], [[cells[i] for i in chosen] for cells in texts])
    return "\n".join([table, *([""] if notes else []), *notes])


def _escape_markdown(cell: str) -> str:
    """Return the text without HTML and without an end of its cell."""
    for mark, escaped in (("\\", "\\\\"), ("|", "\\|"), ("&", "&amp;"), ("<", "&lt;"), ("`", "\\`")):
        cell = cell.replace(mark, escaped)
    return cell


def format_share(share: float | None) -> str:
    """Return the share in percent with one decimal; a dash if there is none."""
    return "-" if share is None else f"{100 * share:.1f}"


def format_with_interval(share: float | None, low: float | None, high: float | None) -> str:
    """Return the share in percent, followed by its interval in brackets."""
    return f"{format_share(share)} [{format_share(low)}, {format_share(high)}]"
