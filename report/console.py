"""Render tables for the console: query results, and the leaderboard at the end of a run."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from primitives.untrusted_text import escape_cell, escape_controls, escape_line
from report.reasoning_notes import note_unfinished
from report.remarks import list_remarks

Row = tuple[Any, ...]


def render_rows(columns: Sequence[str], rows: Sequence[Row], form: str) -> str:
    """Return the rows as an aligned table, as CSV, or as JSON (a list of objects).

    Control characters are escaped in all three, and a text in CSV is no formula for a spreadsheet.
    """
    if form == "json":
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        return escape_controls(json.dumps(objects, indent=2, ensure_ascii=False, default=str))
    if form == "csv":
        text = io.StringIO()
        cells = [[escape_cell(value) if isinstance(value, str) else value for value in row] for row in rows]
        csv.writer(text, lineterminator="\n").writerows([list(map(escape_cell, columns)), *cells])
        return text.getvalue().rstrip("\n")
    return align(columns, [[_format_value(value) for value in row] for row in rows])


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else str(value)


def align(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as a table with aligned columns; columns of numbers are aligned to the right.

    Control characters are escaped, so that no cell can end its line or change the terminal.
    """
    columns, rows = list(map(escape_line, columns)), [list(map(escape_line, cells)) for cells in rows]
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    is_number = [all(_is_number(cell) for cell in cells) for cells in zip(*rows, strict=True)]
    rights = is_number or [False] * len(columns)

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, rights, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, rows)])


def _is_number(cell: str) -> bool:
    return cell.strip("-+%[] ").replace(".", "").replace(",", "").replace(" ", "").isdigit() or not cell


def render_leaderboard(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table with one line per model: average accuracy and mastery with their 95 % intervals.

    The share of failed prompts is a column only if a prompt failed. Sentences follow, where there are any:
    about constant answers, about mastery that does not exceed the best shortcut, and about thoughts that did
    not end.
    """
    if not rows:
        return "no model has been evaluated on this edition yet"
    found = [dict(zip(columns, values, strict=True)) for values in rows]
    lines = [_leaderboard_line(row) for row in found]
    if not any(row["error_rate"] for row in found):
        for line in lines:
            del line["failed %"]
    table = align(list(lines[0]), [list(line.values()) for line in lines])
    remarks = [f"{row['method']}: {remark}" for row in found for remark in list_remarks(row, row["model"])]
    return "\n".join([table, *dict.fromkeys(remarks), *note_unfinished(found)])


def render_not_evaluated(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return one line per model without a score, with the reason; rows of the view not_evaluated."""
    found = [dict(zip(columns, values, strict=True)) for values in rows]
    settings = [f" ({row['setting']})" if row["setting"] else "" for row in found]
    return "\n".join(
        escape_line(f"not evaluated: {row['model']}{setting}: {row['reason']}")
        for row, setting in zip(found, settings, strict=True)
    )


def _leaderboard_line(row: dict[str, Any]) -> dict[str, str]:
    """Return column -> cell of one model."""
    above = (row[f"mastery_above_shortcut{end}"] for end in ("", "_ci_low", "_ci_high"))
    return {
        "#": str(row["rank"]),
        "model": row["model"],
        "method": row["method"],
        "accuracy % [95 % CI]": format_with_interval(row["average_accuracy"], row["ci_low"], row["ci_high"]),
        "mastery % [95 % CI]": format_with_interval(
            row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"]
        ),
        "above shortcut [95 % CI]": format_with_interval(*above),
        "joint %": format_share(row["joint_accuracy"]),
        "no answer %": format_share(row["no_answer_rate"]),
        "true %": format_share(row["true_rate"]),
        "failed %": format_share(row["error_rate"]),
        "pairs": f"{row['n_pairs']:,}",
        "samples": f"{row['n_samples']:,}",
    }


def format_share(share: float | None) -> str:
    """Return the share in percent with one decimal; a dash if there is none."""
    return "-" if share is None else f"{100 * share:.1f}"


def format_with_interval(share: float | None, low: float | None, high: float | None) -> str:
    """Return the share in percent, followed by its interval in brackets."""
    return f"{format_share(share)} [{format_share(low)}, {format_share(high)}]"
