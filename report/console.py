"""Tables on the console: the rows of a result as text that fits the terminal, or in a format for programs."""

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.untrusted_text import escape_cell, escape_controls, escape_line

Row = tuple[Any, ...]
WIDTH = 130
"""The width into which columns are chosen where there is no terminal and no variable COLUMNS."""
UNLIMITED = 100_000
N_ROWS_SHOWN = 500
"""Rows of a table at most: laying out a row takes 2 ms, and nobody reads more of them."""
# Results with so few columns were chosen by whoever wrote the query, so all of them are shown.
N_ALWAYS_SHOWN = 10
N_SHORT = 40
"""The longest text, in characters, that a note repeats."""
OBSERVED = ("n_complete_pairs", "n_samples", "n_points", "n_questions", "no_answer_rate")
"""Columns without which a score cannot be judged."""
EDITIONS = ("edition_id", "other_edition_id", "anchor_edition_id")
"""Columns of ids that are shown, because people know an edition by its id."""


def align(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    is_markdown: bool = False,
    is_wide: bool = False,
) -> str:
    """Return the rows as a table with aligned columns; columns of numbers are aligned to the right.

    In a terminal, long cells are wrapped so that the table fits, unless it is wide; elsewhere, every row is
    one line. Control characters are escaped, so that no cell can end its line or change the terminal.
    """
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    if not is_markdown and (is_wide or not is_terminal):
        return _align_lines(columns, rows)
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
    width = UNLIMITED if is_markdown else shutil.get_terminal_size().columns
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


def _align_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return one line per row. Rich takes 2 ms for each of them, which is too long for a file of all rows."""
    from rich.cells import cell_len

    lines = [list(map(escape_line, row)) for row in (columns, *rows)]
    sizes = [list(map(cell_len, line)) for line in lines]
    widths = list(map(max, zip(*sizes, strict=True)))
    is_right = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(columns))]

    def pad(line: Sequence[str], size: Sequence[int]) -> str:
        cells = zip(line, size, widths, is_right, strict=True)
        padded = (" " * (w - n) + cell if right else cell + " " * (w - n) for cell, n, w, right in cells)
        return "  ".join(padded).rstrip()

    first, *rest = map(pad, lines, sizes)
    return "\n".join([first, "  ".join("-" * width for width in widths), *rest])


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, a share with its interval, or empty."""
    return cell.strip("-+%[] ").replace(".", "").replace(",", "").replace(" ", "").isdigit() or not cell


def fit_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]], order: Sequence[int], n_needed: int = 1
) -> list[int]:
    """Return the places of the columns that fit the terminal together, in the order of the table.

    Args:
        order: the places, the most important one first.
        n_needed: how many of the first are chosen in any case.
    """
    width = shutil.get_terminal_size((WIDTH, 0)).columns
    chosen: list[int] = []
    for place in order:
        needed = max(map(len, [columns[place], *(row[place] for row in rows)])) + 2
        if len(chosen) < n_needed or needed <= width + 2:
            chosen.append(place)
            width -= needed
    return sorted(chosen)


def find_limits(columns: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Return the place of each score that has an interval -> the places of its lower and upper limit."""
    named = {name: place for place, name in enumerate(columns)}
    ends = ("_ci_low", "_ci_high")
    return {
        place: (named[score + ends[0]], named[score + ends[1]])
        for score, place in named.items()
        if all(score + end in named for end in ends)
    }


def order_columns(columns: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """Return the places of the columns, in the order in which they are chosen while there is room.

    First come those in which the rows differ, then ids other than EDITIONS, and last what is the same in all
    rows. Of these, texts come first, then the first score with an interval, OBSERVED, the other scores, and
    other numbers. The limits of an interval are left out, because they are shown with their score.
    """
    limits = find_limits(columns)
    places = set(range(len(columns))) - {place for pair in limits.values() for place in pair}

    def rank_kind(place: int) -> int:
        if place in limits:
            return 1 if place == min(limits) else 3
        if columns[place] in OBSERVED:
            return 2
        return 4 if any(type(row[place]) in (int, float) for row in rows) else 0

    def rank_column(place: int) -> tuple[bool, bool, int, int]:
        is_constant = len({str(row[place]) for row in rows}) <= 1
        is_id = columns[place].endswith("_id") and columns[place] not in EDITIONS
        return is_constant and place not in limits, is_id, rank_kind(place), place

    return sorted(places, key=rank_column)


def render_rows(
    columns: Sequence[str],
    rows: Sequence[Row],
    form: str,
    *,
    is_wide: bool = False,
    n_rows: int = N_ROWS_SHOWN,
) -> str:
    """Return the rows as a table, CSV, JSON (a list of objects) or Markdown; control characters are escaped.

    A text in CSV is no formula for a spreadsheet. Numbers in JSON are numbers, and null where they are not
    finite.

    Args:
        form: table, csv, json or markdown.
        is_wide: whether a table has all columns, also where they do not fit the terminal.
        n_rows: how many rows a table has at most.

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
    return _render_table(columns, rows, n_rows, is_wide=is_wide)


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


def _render_table(columns: Sequence[str], rows: Sequence[Row], n_rows: int, *, is_wide: bool) -> str:
    """Return the first rows, with all columns or those that fit, in which scores have their intervals.

    Notes say what is left out.
    """
    texts = [[escape_line(_format_value(value)) for value in row] for row in rows[:n_rows]]
    order = chosen = list(range(len(columns)))
    if not is_wide and len(columns) > N_ALWAYS_SHOWN:
        limits = find_limits(columns)
        for cells in texts:
            for score, (low, high) in limits.items():
                cells[score] += f" [{cells[low]}, {cells[high]}]" if cells[low] else ""
        order = order_columns(columns, rows[:n_rows])
        chosen = fit_columns(columns, texts, order)
    notes = []
    if hidden := [i for i in sorted(order) if i not in chosen]:
        names = ", ".join(_name_hidden(columns[i], {row[i] for row in texts}) for i in hidden)
        notes.append(f"not shown: {names}; --wide shows all columns")
    if len(texts) < len(rows):
        notes.append(f"{len(texts):,} of {len(rows):,} rows; --format csv prints all of them")
    shown = [[cells[i] for i in chosen] for cells in texts]
    table = align([columns[i] for i in chosen], shown, is_wide=is_wide)
    return "\n".join([table, *([""] if notes else []), *notes])


def _name_hidden(name: str, values: Collection[str]) -> str:
    """Return the name of a column, with its value where a short text is the same in all rows."""
    (value,) = values if len(values) == 1 else ("",)
    return f"{name} ({value})" if 0 < len(value) <= N_SHORT else name


def _escape_markdown(cell: str) -> str:
    """Return the text without HTML and without an end of its cell."""
    for mark, escaped in (("\\", "\\\\"), ("|", "\\|"), ("&", "&amp;"), ("<", "&lt;"), ("`", "\\`")):
        cell = cell.replace(mark, escaped)
    return cell


def format_share(share: float | None) -> str:
    """Return the share in percent with one decimal; a dash if there is none."""
    return "-" if share is None else f"{100 * share:.1f}"


def format_with_interval(share: float | None, low: float | None, high: float | None) -> str:
    """Return the share in percent, followed by its interval in brackets if there is one."""
    interval = "" if low is None or high is None else f" [{format_share(low)}, {format_share(high)}]"
    return f"{format_share(share)}{interval}"


def format_difference(row: dict[str, Any], name: str = "difference") -> str:
    """Return a difference in points with its interval in brackets, or "too few" facts for one."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_ci_low", "_ci_high"))
    if value is None:
        return "-"
    return f"{format_share(value)} [too few]" if low is None else format_with_interval(value, low, high)
