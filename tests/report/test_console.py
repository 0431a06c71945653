"""The rows of a result as a table that fits, as JSON, as CSV and as Markdown."""

import csv
import io
import json
from decimal import Decimal

import pytest

from primitives.errors import InputError
from report.console import N_ROWS_SHOWN, WIDTH, render_rows

MANY = [f"column_{k}" for k in range(30)]


def test_json_holds_numbers_and_null() -> None:
    columns, row = (
        ["a", "b", "c", "d"],
        (Decimal("1.5"), float("nan"), [Decimal(2), None], {"x": float("inf")}),
    )
    assert json.loads(render_rows(columns, [row], "json")) == [
        {"a": 1.5, "b": None, "c": [2.0, None], "d": {"x": None}}
    ]


def test_json_refuses_two_columns_of_one_name() -> None:
    with pytest.raises(InputError, match=r"two columns .* named n: give one another name"):
        render_rows(["n", "m", "n"], [(1, 2, 3)], "json")


def test_markdown_keeps_every_cell_in_its_place() -> None:
    rows = [("a|b\nc", 0.5), ("<b>`x`</b>", 2.0)]
    assert render_rows(["text", "share"], rows, "markdown").splitlines() == [
        "| text               |  share |",
        "|--------------------|--------|",
        "| a\\|b\\nc            | 0.5000 |",
        "| &lt;b>\\`x\\`&lt;/b> | 2.0000 |",
    ]


def test_markdown_without_rows_has_its_header() -> None:
    assert render_rows(["a", "b"], [], "markdown") == "| a | b |\n|---|---|"


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


def test_a_factor_with_several_values_is_shown() -> None:
    columns = [*MANY, "model", "scoring_policy"]
    rows = [tuple(["x"] * 30 + ["one", policy]) for policy in ("strict", "excluded")]
    assert "scoring_policy" in render_rows(columns, rows, "table").splitlines()[0]


def test_columns_that_the_query_names_are_all_shown() -> None:
    rows = [tuple("x" * 60 for _ in range(5))]
    assert render_rows(MANY[:5], rows, "table").splitlines()[0].split() == MANY[:5]


def test_csv_has_all_columns() -> None:
    text = render_rows(MANY, [tuple(range(30))], "csv")
    assert list(csv.reader(io.StringIO(text))) == [MANY, [str(k) for k in range(30)]]


def test_a_long_result_says_how_many_rows_are_left_out() -> None:
    lines = render_rows(["n"], [(n,) for n in range(N_ROWS_SHOWN + 1)], "table").splitlines()
    assert len(lines) == N_ROWS_SHOWN + 4
    assert lines[-1].startswith("500 of 501 rows")
