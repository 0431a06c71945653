"""The rows of a result as a table that fits, as JSON, as CSV and as Markdown."""

import json
from decimal import Decimal

from report.console import WIDTH, render_rows

MANY = [f"column_{k}" for k in range(30)]


def test_json_holds_numbers_and_null() -> None:
    columns, row = (
        ["a", "b", "c", "d"],
        (Decimal("1.5"), float("nan"), [Decimal(2), None], {"x": float("inf")}),
    )
    assert json.loads(render_rows(columns, [row], "json")) == [
        {"a": 1.5, "b": None, "c": [2.0, None], "d": {"x": None}}
    ]


def test_markdown_keeps_every_cell_in_its_place() -> None:
    rows = [("a|b\nc", 0.5), ("<b>`x`</b>", 2.0)]
    assert render_rows(["text", "share"], rows, "markdown").splitlines() == [
        "| text               |  share |",
        "|--------------------|--------|",
        "| a\\|b\\nc            | 0.5000 |",
        "| &lt;b>\\`x\\`&lt;/b> | 2.0000 |",
    ]


def test_a_wide_result_is_narrowed_to_the_key_columns() -> None:
    columns = [*MANY, "method", "model", "average_accuracy"]
    rows = [tuple(["x"] * 30 + ["pretexeval", name, 0.5]) for name in ("one", "two")]
    header, *_, note = render_rows(columns, rows, "table").splitlines()
    assert len(header) <= WIDTH
    # The method is the same in all rows.
    assert [name for name in header.split() if not name.startswith("column_")] == [
        "model",
        "average_accuracy",
    ]
    assert note == f"{len(header.split())} of 33 columns; --wide shows all of them"
    assert render_rows(columns, rows, "table", is_wide=True).splitlines()[0].split() == columns
