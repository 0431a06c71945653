"""The papers' tables of a real warehouse and of given rows."""

from pathlib import Path
from typing import Any

from report.paper_tables import render_all_tables, render_paper_tables
from report.score_tables import render_leaderboard
from tests.report.conftest import EDITION, METHODS, SETTING
from tests.support.data_folder import query_rows
from warehouse.query import run_query

Rows = list[tuple[Any, ...]]


def test_the_scoring_policy_and_the_numbers_of_samples_are_said(compared: Path) -> None:
    rows = query_rows(
        compared, f"from leaderboard where edition_id = '{EDITION}' and repeat = 0 order by rank"
    )
    head, *_ = render_all_tables(compared, EDITION).splitlines()
    assert head.startswith("Scoring policy strict. Graded samples or questions of each model: ")
    one = [row for row in rows if row["scoring_policy"] == "strict"]
    assert {row["method"] for row in one if f"{row['method']} " in head} == set(METHODS)
    assert f" {max(row['n_samples'] for row in one):,}" in head
    assert "scoring" not in render_leaderboard(one).splitlines()[0]
    several = render_leaderboard([*one, *({**row, "scoring_policy": "excluded"} for row in one)]).splitlines()
    assert "scoring" in several[0]
    assert sum("excluded" in line for line in several) == len(one)


def test_tables_show_the_paired_difference_and_the_mean_of_the_models(compared: Path) -> None:
    text = render_paper_tables(lambda sql: run_query(compared, sql), EDITION, "strict")
    losses, curve = (part for part in text.split("\n\n") if part.startswith(("PretexEval minus", "Joint")))
    assert losses.splitlines()[1].split() == ["model", "direct", "llmeval", "prototype"]
    means = [line for line in curve.splitlines() if line.startswith("mean of models, pretexeval")]
    expected = query_rows(
        compared,
        f"select 100 * avg(joint_accuracy) as mean from joint_accuracy_curve where {SETTING} "
        "and method = 'pretexeval' group by n order by n",
    )
    assert means[0].split()[4:] == [f"{row['mean']:.1f}" for row in expected]


def render(average_accuracy: Rows) -> list[str]:
    def query(sql: str) -> tuple[list[str], Rows]:
        return [], average_accuracy if "from leaderboard " in sql else []

    return render_paper_tables(query, "e", "strict").splitlines()


def test_gains_stand_by_model_and_method_in_the_papers_order() -> None:
    large = [("large", "pretexeval", 12.34, 10.0, 14.9), ("large", "direct", -1.0, -3.0, 1.0)]
    title, names, _, first, second, mean = render([*large, ("small", "direct", 0.0, -2.0, 2.0)])
    assert title == "Methods: gain over random"
    assert names.split() == ["model", "direct", "pretexeval"]
    assert first.split(maxsplit=1)[1].startswith("-1.0 [-3.0, +1.0]")
    assert first.endswith("+12.3 [+10.0, +14.9]")
    assert second.split()[-1] == "-"
    # Not all models were asked by the method pretexeval.
    assert mean.split() == ["mean", "of", "models", "-0.5", "-"]
