"""Render tables for the console: aligned columns, and the leaderboard at the end of a run."""

from collections.abc import Sequence
from typing import Any

from primitives.untrusted_text import escape_line
from report.column_choice import GAP, fit_columns, measure_columns
from report.reasoning_notes import note_unfinished
from report.remarks import list_remarks

Row = tuple[Any, ...]
# The columns of the leaderboard on the console, the most important one first.
KEYS = (
    "#",
    "model",
    "accuracy % [95 % CI]",
    "mastery % [95 % CI]",
    "above shortcut [95 % CI]",
    "failed %",
    "no answer %",
    "unfinished %",
    "pairs",
)


def align(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as a table with aligned columns; columns of numbers are aligned to the right.

    Control characters are escaped, so that no cell can end its line or change the terminal.
    """
    columns, rows = list(map(escape_line, columns)), [list(map(escape_line, cells)) for cells in rows]
    widths = measure_columns(columns, rows)
    rights = [all(map(is_number, cells)) for cells in zip(*rows, strict=True)] or [False] * len(columns)

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, rights, strict=True)
        )
        return (" " * GAP).join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, rows)])


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, a share with its interval, or empty."""
    return cell.strip("-+%[] ").replace(".", "").replace(",", "").replace(" ", "").isdigit() or not cell


def render_leaderboard(columns: Sequence[str], rows: Sequence[Row], *, is_wide: bool = False) -> str:
    """Return a table with one line per model: average accuracy and mastery with their 95 % intervals.

    The shares of failed prompts and of unfinished thoughts are columns only if there are any. Sentences
    follow, where there are any: about constant answers, about mastery that does not exceed the best shortcut,
    and about thoughts that did not end.

    Args:
        is_wide: whether all columns are shown. Otherwise, only the key columns that fit a terminal are.
    """
    if not rows:
        return "no model has been evaluated on this edition yet"
    found = [dict(zip(columns, values, strict=True)) for values in rows]
    lines = [_leaderboard_line(row) for row in found]
    for name, rate in (("failed %", "error_rate"), ("unfinished %", "unfinished_reasoning_rate")):
        if not any(row[rate] for row in found):
            for line in lines:
                del line[name]
    table = _align_leaderboard(lines, is_wide=is_wide)
    remarks = [f"{row['method']}: {remark}" for row in found for remark in list_remarks(row, row["model"])]
    return "\n".join([table, *dict.fromkeys(remarks), *note_unfinished(found)])


def _align_leaderboard(lines: Sequence[dict[str, str]], *, is_wide: bool) -> str:
    names, rows = list(lines[0]), [list(line.values()) for line in lines]
    if is_wide:
        return align(names, rows)
    keys = [name for name in KEYS if name in names]
    if len({line["method"] for line in lines}) > 1:
        keys.insert(2, "method")
    order = list(map(names.index, keys))
    widths = measure_columns(names, [list(map(escape_line, row)) for row in rows])
    chosen = fit_columns(widths, order, keys.index("mastery % [95 % CI]") + 1)
    return align([names[i] for i in chosen], [[row[i] for i in chosen] for row in rows])


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
        "unfinished %": format_share(row["unfinished_reasoning_rate"]),
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
