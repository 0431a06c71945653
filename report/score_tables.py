"""Tables of scores as text: for the console at the end of a run, and for the Prefect UI."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pretexeval.primitives.untrusted_text import escape_line
from report.columns import FACETS, TABLES, Column, Row, select_columns
from report.console import align, fit_columns, format_difference, format_share, format_with_interval
from report.facet_scores import note_unanswered, note_unanswered_questions, read_facet_scores
from report.formats import format_rank, format_value, label_models
from report.remarks import list_remarks, note_labels, note_replies, read_exchanged, read_reply_remarks
from warehouse.query import read_rows

N_ALWAYS_SHOWN = 2
"""Columns that are shown in the narrowest terminal."""


def render_table(columns: Sequence[Column], rows: Sequence[Row], *, is_wide: bool = True) -> str:
    """Return the rows as a table.

    Args:
        is_wide: whether all columns are shown. Otherwise, the first ones that fit a terminal are.
    """
    shown = select_columns(columns, rows)
    interval = {"share": " % [95 % CI]", "change": " [95 % CI]"}
    heads = [
        column.title + interval[column.kind] if column.kind in interval else column.unit_title.split(",")[0]
        for column in shown
    ]
    lines = [[write_cell(column, row) for column in shown] for row in rows]
    places = list(range(len(shown)))
    if not is_wide:
        places = fit_columns(heads, lines, places, N_ALWAYS_SHOWN)
    return align([heads[i] for i in places], [[line[i] for i in places] for line in lines])


def write_cell(column: Column, row: Row) -> str:
    """Return the text of a cell; empty where the row lacks the column."""
    if column.kind == "model":
        return str(row["model" if column.name == "model_id" else "other_model"])
    if column.name not in row:
        return ""
    value = row[column.name]
    writers: dict[str, Callable[[], str]] = {
        "rank": lambda: format_rank(row),
        "share": lambda: format_with_interval(*(row.get(f"{column.name}{end}") for end in ENDS)),
        "change": lambda: format_difference(row, column.name),
        "points": lambda: format_share(value),
        "rate": lambda: format_share(value),
        "count": lambda: f"{value:,}",
        "words": lambda: str(value),
    }
    if value is None:
        return "-"
    return writers[column.kind]() if column.kind in writers else format_value(value, column.kind)


ENDS = ("", "_ci_low", "_ci_high")


def render_scores(root: Path, edition_id: str, *, is_wide: bool = True) -> str:
    """Return the leaderboard of the samples, the table of facets of the questions, and who has no score."""
    where = f"where edition_id = '{edition_id}'"
    # Show the first repeat of a model that was asked several times; note_repeats adds the means.
    rows = read_rows(
        root, f"from leaderboard {where} and repeat = 0 order by method, scoring_policy, rank, model"
    )
    scores = read_facet_scores(lambda sql: read_rows(root, sql), edition_id)
    labels = label_models({row["model_id"]: row["model"] for row in (*rows, *scores)})
    rows, scores = ([row | {"model": labels[row["model_id"]]} for row in each] for each in (rows, scores))
    parts = []
    if rows or not scores or read_rows(root, f"from editions {where} and n_drawn_pairs > 0"):
        parts.append("\n".join([render_leaderboard(rows, is_wide=is_wide), *note_repeats(root, edition_id)]))
    if scores:
        parts.append(render_facets(scores))
    notes = note_labels(read_exchanged(root, edition_id), labels)
    notes += note_replies(read_reply_remarks(root, edition_id))
    failed = render_not_evaluated(read_rows(root, f"from not_evaluated {where}"))
    return "\n".join(["\n\n".join(parts), *map(escape_line, notes), *([failed] if failed else [])])


def render_leaderboard(rows: Sequence[Row], *, is_wide: bool = False) -> str:
    """Return a table with one line per model: its scores with their 95 % intervals, the most important first.

    Sentences follow, where there are any: about constant answers, about mastery that does not exceed the best
    shortcut, about thoughts that did not end and about refusals.
    """
    if not rows:
        return "no model has been evaluated on this edition yet"
    methods_of: dict[str, list[str]] = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        for remark in list_remarks([row for row in rows if row["method"] == method]):
            methods_of.setdefault(remark, []).append(method)
    remarks = [f"{', '.join(methods)}: {remark}" for remark, methods in methods_of.items()]
    return "\n".join(
        [render_table(TABLES["leaderboard"], rows, is_wide=is_wide), *remarks, *note_unanswered(rows)]
    )


def render_facets(
    rows: Sequence[Row], columns: Sequence[Column] = TABLES["facets"], *, is_wide: bool = True
) -> str:
    """Return a table with one line per model and setting: its facets with their 95 % intervals.

    The last line of the table is what random answers score. Sentences about thoughts that did not end and
    about refusals follow.

    Args:
        rows: at least one of read_facet_scores.
        columns: those of the table that are shown.
    """
    random: dict[str, Any] = {"model": "random answers"}
    random |= {name: rows[0][f"{name}_random"] for name in (*FACETS, "average")}
    table = render_table(columns, [*rows, random], is_wide=is_wide)
    return "\n".join([table, *note_unanswered_questions(rows)])


def render_not_evaluated(rows: Sequence[Row]) -> str:
    """Return one line per model without a score, with the reason; rows of the view not_evaluated."""
    lines = []
    for row in rows:
        setting = f" ({row['setting']})" if row["setting"] else ""
        lines.append(escape_line(f"not evaluated: {row['model']}{setting}: {row['reason']}"))
    return "\n".join(lines)


def note_repeats(root: Path, edition_id: str) -> list[str]:
    """Return a sentence with the mean over the repeats for each model and method with several of them."""
    rows = read_rows(
        root,
        f"from scores where grouping_by = 'repeats' and edition_id = '{edition_id}' "
        "order by method, scoring_policy, model, model_id",
    )
    notes = []
    for row in rows:
        accuracy, mastery = (
            format_with_interval(*(row[f"{name}{end}"] for end in ENDS))
            for name in ("average_accuracy", "mastery")
        )
        notes.append(
            f"{row['model']} ({row['method']}, {row['scoring_policy']}): the leaderboard shows the first of "
            f"{row['n_repeats']} repeats. Their mean accuracy is {accuracy} %, their mean mastery "
            f"{mastery} %."
        )
    return notes
