"""The papers' tables, from rows as a warehouse returns them."""

from typing import Any

from report.paper_tables import render_paper_tables

Rows = list[tuple[Any, ...]]


def render(**views: Rows) -> str:
    def query(sql: str) -> tuple[list[str], Rows]:
        assert "edition_id = 'e'" in sql
        assert "scoring_policy = 'strict'" in sql
        return [], next((rows for view, rows in views.items() if f"from {view} " in sql), [])

    return render_paper_tables(query, "e")


def test_gains_stand_by_model_and_method_in_the_papers_order() -> None:
    text = render(
        average_accuracy=[
            ("large", "pretexeval", 12.34, 10.0, 14.9),
            ("large", "direct", -1.0, -3.0, 1.0),
            ("small", "direct", 0.0, -2.0, 2.0),
        ]
    )
    title, names, _, large, small = text.splitlines()
    assert title == "Methods: gain over random"
    assert names.split() == ["model", "direct", "pretexeval"]
    assert large.split(maxsplit=1)[1].startswith("-1.0 [-3.0, +1.0]")
    assert large.endswith("+12.3 [+10.0, +14.9]")
    assert small.split()[-1] == "-"


def test_the_curve_has_a_column_for_each_number_of_samples() -> None:
    rows = [("large", "pretexeval", n, 90.0 - n) for n in range(1, 9)]
    text = render(joint_accuracy_curve=[*rows, ("large", "direct", 1, 95.0)])
    lines = text.splitlines()
    assert lines[1].split() == ["model", *map(str, range(1, 9))]
    assert lines[3].split() == ["large,", "pretexeval", *(f"{90 - n:.1f}" for n in range(1, 9))]
    assert lines[4].split() == ["large,", "direct", "95.0", *["-"] * 7]


def test_what_was_not_asked_is_left_out() -> None:
    assert render() == ""
    assert render(average_accuracy=[("large", "llmeval", None, None, None)]) == ""
