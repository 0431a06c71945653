"""The rows of a result as a table that fits, as JSON and as Markdown, and the papers' tables."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from report.console import WIDTH, order_columns, render_rows
from report.paper_tables import render_all_tables, render_paper_tables
from report.score_tables import render_leaderboard
from tests.report.conftest import SETTING
from tests.warehouse.conftest import EDITION, METHODS
from warehouse.query import read_rows

Rows = list[tuple[Any, ...]]
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


def test_a_wide_result_is_narrowed_and_the_rest_is_named() -> None:
    columns = [*MANY, "method", "model", "average_accuracy"]
    rows = [
        tuple(["x" * 200] + ["x"] * 29 + ["pretexeval", name, share])
        for name, share in (("one", 0.5), ("two", 0.6))
    ]
    header, *_, note = render_rows(columns, rows, "table").splitlines()
    assert len(header) <= WIDTH
    # The method is the same in all rows.
    assert header.split()[-2:] == ["model", "average_accuracy"]
    assert note.startswith("not shown: column_0, ")
    assert note.endswith(", column_29 (x), method (pretexeval); --wide shows all columns")
    assert render_rows(columns, rows, "table", is_wide=True).splitlines()[0].split() == columns


def test_what_differs_between_rows_and_scores_with_their_intervals_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = ["run_id", "method", "model", "n_pairs", "accuracy", "accuracy_ci_low", "accuracy_ci_high"]
    columns += ["rate", "rest"]
    rows = [
        ("a-1", "direct", "a", 7, 0.5, 0.25, 0.75, 0.1, "x"),
        ("b-1", "direct", "b", 8, 0.5, None, None, 0.2, "x"),
    ]
    more = [*columns, "more", "most"]
    shown = {}
    for width in (30, 50, 130):
        monkeypatch.setenv("COLUMNS", str(width))
        text = render_rows(more, [(*row, 1, 2) for row in rows], "table")
        shown[width] = text.splitlines()[0].split()
        assert "0.5000 [0.2500, 0.7500]" in text
    assert shown[30] == ["model", "accuracy"]
    assert shown[50] == ["model", "n_pairs", "accuracy", "rate"]
    assert shown[130] == [name for name in more if not name.startswith("accuracy_")]
    names = ["edition_id", "prompt_id", "model", "score"]
    assert order_columns(names, [(f"starter-{k}", f"p{k}", f"m{k}", k) for k in range(2)]) == [0, 2, 3, 1]
    # No score but the first one stands before its number of samples and the rate of missing answers.
    scores = [
        "mastery",
        "mastery_ci_low",
        "mastery_ci_high",
        "accuracy",
        "accuracy_ci_low",
        "accuracy_ci_high",
    ]
    names = ["model", "n_errors", "n_samples", *scores, "no_answer_rate"]
    order = order_columns(names, [(f"m{k}", *range(k, k + 9)) for k in range(2)])
    assert [names[place] for place in order] == [
        "model",
        "mastery",
        "n_samples",
        "no_answer_rate",
        "accuracy",
        "n_errors",
    ]
    columns = ["a"] * 20
    assert render_rows(columns, [tuple(range(20))], "table").splitlines()[0].split() == columns


def test_the_scoring_policy_and_the_numbers_of_samples_are_said(
    compared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_rows(
        compared, f"from leaderboard where edition_id = '{EDITION}' and repeat = 0 order by rank"
    )
    head, *_ = render_all_tables(compared, EDITION).splitlines()
    assert head.startswith("Scoring policy strict. Graded samples or questions of each model: ")
    one = [row for row in rows if row["scoring_policy"] == "strict"]
    assert {row["method"] for row in one if f"{row['method']} " in head} == set(METHODS)
    assert f" {max(row['n_samples'] for row in one):,}" in head
    assert "scoring" not in render_leaderboard(one).splitlines()[0]
    # However narrow the table is, what a score needs is chosen before it.
    for width in range(40, 200, 10):
        monkeypatch.setenv("COLUMNS", str(width))
        head = render_leaderboard(one).splitlines()[0]
        for score, needed in (("average accuracy", "n samples"), ("average accuracy", "no answer")):
            assert score not in head or needed in head
        assert "joint accuracy" not in head or "n triplets" in head
    several = render_leaderboard([*one, *({**row, "scoring_policy": "excluded"} for row in one)]).splitlines()
    assert "scoring" in several[0]
    assert sum("excluded" in line for line in several) == len(one)


def test_tables_show_the_paired_difference_and_the_mean_of_the_models(compared: Path) -> None:
    text = render_paper_tables(lambda sql: read_rows(compared, sql), EDITION, "strict")
    losses, *_, curve = (
        part for part in text.split("\n\n") if part.startswith(("PretexEval minus", "Joint"))
    )
    assert losses.splitlines()[1].split() == ["model", "direct", "llmeval", "prototype"]
    assert curve.startswith("Joint accuracy (%) when n samples are asked, prototype")
    means = [line for line in curve.splitlines() if line.startswith("mean of models")]
    expected = read_rows(
        compared,
        f"select 100 * avg(joint_accuracy) as mean from joint_accuracy_curve where {SETTING} "
        "and method = 'prototype' group by n order by n",
    )
    assert means[0].split()[3:] == [f"{row['mean']:.1f}" for row in expected]


def test_gains_stand_by_model_and_method_in_the_papers_order() -> None:
    gains = {("large", "pretexeval"): (12.34, 10.0, 14.9), ("large", "direct"): (-1.0, -3.0, 1.0)}
    gains[("small", "direct")] = (0.0, -2.0, 2.0)
    rows = [
        {"model": model, "part": part} | dict(zip(("value", "low", "high"), values, strict=True))
        for (model, part), values in gains.items()
    ]

    def read(sql: str) -> list[dict[str, Any]]:
        return rows if "from leaderboard " in sql else []

    title, names, _, first, second, mean = render_paper_tables(read, "e", "strict").splitlines()
    assert title == "Methods: gain over random"
    assert names.split() == ["model", "direct", "pretexeval"]
    assert first.split(maxsplit=1)[1].startswith("-1.0 [-3.0, +1.0]")
    assert first.endswith("+12.3 [+10.0, +14.9]")
    assert second.split()[-1] == "-"
    # Not all models were asked by the method pretexeval.
    assert mean.split() == ["mean", "of", "models", "-0.5", "-"]
