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
    title, names, _, large, small, mean = text.splitlines()
    assert title == "Methods: gain over random"
    assert names.split() == ["model", "direct", "pretexeval"]
    assert large.split(maxsplit=1)[1].startswith("-1.0 [-3.0, +1.0]")
    assert large.endswith("+12.3 [+10.0, +14.9]")
    assert small.split()[-1] == "-"
    # Not all models were asked by the method pretexeval.
    assert mean.split() == ["mean", "of", "models", "-0.5", "-"]


def test_the_relative_loss_is_a_part_of_the_gain_by_the_method_direct() -> None:
    direct, full = ("large", "direct", 40.0, 38.0, 42.0), ("large", "pretexeval", 30.0, 28.0, 32.0)
    guess = [("small", "direct", -1.0, -3.0, 1.0), ("small", "pretexeval", 2.0, 0.0, 4.0)]
    *_, large, small, mean = render(average_accuracy=[direct, full, *guess]).splitlines()
    assert large.split()[-1] == "25"
    assert small.split()[-1] == mean.split()[-1] == "-"
