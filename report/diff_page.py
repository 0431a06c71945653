"""Write the page that compares two editions. It is self-contained, and has no script."""

from pathlib import Path

from primitives.errors import InputError
from report.diff_texts import list_diff_notes
from report.edition_diff import EditionDiff, list_changes
from report.page_templates import render_template
from storage.files import write_atomically

N_SHOWN = 300
"""How many changed items of each kind the page shows: a large base has 270,000 texts."""


def write_diff_page(root: Path, diff: EditionDiff, path: Path) -> Path:
    """Write the page of two editions to the path, over the one of before; return the path.

    Raises:
        InputError: the page cannot be written.
    """
    columns, rows = list_changes(root, diff, ("gone", "replaced", "new"), N_SHOWN)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    totals = [row for row in diff.counts if row["relation"] is None]
    lists = [
        {
            "name": total["item"],
            "has_text": total["item"] in ("text", "demonstration"),
            "n": total["n_gone"] + total["n_new"] - total["n_replaced"],
            "rows": [row for row in found if row["item"] == total["item"]],
        }
        for total in totals
        if total["n_gone"] + total["n_new"]
    ]
    text = render_template(
        "diff.html",
        first=diff.first,
        second=diff.second,
        totals=totals,
        parts=[row for row in diff.counts if row["relation"] is not None],
        scores=diff.scores,
        notes=list_diff_notes(diff),
        lists=lists,
    )
    try:
        with write_atomically(path) as aside:
            aside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}); give --html another path") from error
    return path
