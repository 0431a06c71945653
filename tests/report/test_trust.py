"""What the page says about probabilities, scoring policies and other editions."""

from pathlib import Path

import pytest

from report.formats import format_span
from report.page import write_report
from tests.report.conftest import EDITION, FRESH
from tests.support.data_folder import query_rows
from tests.support.page_cells import change
from tests.support.parsed_page import Parsed, parse


@pytest.fixture(scope="module")
def page(compared_text: str) -> Parsed:
    return parse(compared_text)


def test_probabilities_are_shown_only_for_models_that_have_them(page: Parsed) -> None:
    rows = page.table_with("Model", "Average accuracy", "AUROC")[1:]
    assert [row[0] for row in rows] == ["Recall"]
    # The model always prefers the right answer: 0.9 for the true samples, 0.2 for the false ones.
    assert rows[0][1].startswith("100.0\u00a0%\n")
    assert rows[0][2:5] == ["1.000", "0.150", "0.025"]
    (diagram,) = [label for label in page.labels if label.startswith("Reliability diagram")]
    assert diagram.startswith(
        "Reliability diagram, Recall. said to be true with 20.0\u00a0%: 0.0\u00a0% are (of 29 samples)"
    )


def test_a_fall_on_fresh_text_is_shown_from_both_sides(compared: Path, page: Parsed) -> None:
    other = parse(write_report(compared, FRESH).read_text(encoding="utf-8"))
    here, there = (
        next(r for r in p.table_with("Model", "Other edition")[1:] if r[0] == "Recall") for p in (page, other)
    )
    (view_row,) = query_rows(
        compared,
        "from edition_drift where model_id = 'recall' and method = 'pretexeval' "
        "and scoring_policy = 'strict'",
    )
    assert (view_row["difference"], view_row["average_accuracy"]) == (0.5, 1.0)
    assert [here[1], there[1]] == [FRESH, EDITION]
    assert here[5] == change(view_row, "difference")
    low, high = -view_row["difference_ci_high"], -view_row["difference_ci_low"]
    assert there[5] == f"−50.0\n{format_span(low, high)}"
    assert here[3:5] == there[4:2:-1]
    assert here[2] == "0.0\u00a0%"
    assert f"0.0\u00a0% with {FRESH}." in page.text
