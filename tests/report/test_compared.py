"""What the page says about methods, components, transformations and models in comparison."""

from pathlib import Path

import pytest

from report.formats import format_percent, format_points, format_span
from tests.report.conftest import ODD_NAME
from tests.support.data_folder import query_rows
from tests.support.page_cells import SETTING, change, share
from tests.support.parsed_page import Parsed, parse


@pytest.fixture(scope="module")
def page(compared_text: str) -> Parsed:
    return parse(compared_text)


def test_methods_stand_in_the_papers_order_with_their_numbers(compared: Path, page: Parsed) -> None:
    rows = [r for r in page.table_with("Model", "Method", "Average accuracy")[1:] if r[0] == "Recall"]
    assert [row[1] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    expected = {
        r["method"]: r
        for r in query_rows(compared, f"from leaderboard where model_id = 'recall' and {SETTING}")
    }
    for row in rows:
        view_row = expected[row[1]]
        assert row[2] == share(view_row, "average_accuracy", "ci_low", "ci_high")
        assert row[4] == share(view_row, "joint_accuracy", "joint_ci_low", "joint_ci_high")
        assert row[8] == str(view_row["n_triplets"])
    # Scurvy has five of eight samples under every method, and one under direct.
    assert [row[8] for row in rows] == ["8", "6", "6", "6"]


def test_components_with_their_differences(compared: Path, page: Parsed) -> None:
    rows = [r for r in page.table_with("Model", "Component")[1:] if r[0] == ODD_NAME]
    expected = query_rows(compared, f"from component_ablation where model_id = 'erratic' and {SETTING}")
    assert [row[1] for row in rows] == ["full", "without transformations", "without rephrasing"]
    for row, view_row in zip(rows, expected, strict=True):
        assert row[2] == share(view_row, "average_accuracy", "ci_low", "ci_high")
        assert [row[3], row[5], row[7]] == [
            change(view_row, name) for name in ("difference", "joint_difference", "mastery_difference")
        ]
    assert rows[0][3] == "–"
    assert "\n" in rows[1][3]


def test_the_better_of_two_models_comes_first(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Model", "against")[1:]
    assert [row[:2] for row in rows] == [["Recall", ODD_NAME], ["Recall", "Silent"], [ODD_NAME, "Silent"]]
    # The id erratic sorts before recall, so the page swaps the sides of the row.
    (view_row,) = query_rows(
        compared,
        "from model_comparison where method = 'pretexeval' and model_id = 'erratic' "
        f"and other_model_id = 'recall' and {SETTING}",
    )
    assert view_row["difference"] < 0
    low, high = -view_row["difference_ci_high"], -view_row["difference_ci_low"]
    assert rows[0][2] == f"{format_points(-view_row['difference'])}\n{format_span(low, high)}"
    assert rows[0][6] == f"{view_row['n_other_mastered_alone']}, {view_row['n_mastered_alone']}" != "0, 0"
    assert rows[0][7] == f"{view_row['mcnemar_p']:.3f}"
    assert rows[0][8] == (
        f"{format_percent(view_row['other_no_answer_rate'])}, {format_percent(view_row['no_answer_rate'])}"
    )
