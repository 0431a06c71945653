"""What the page says about the samples: gate, diversity, grades, and the checks of all stages."""

from pathlib import Path

import pytest

from tests.report.conftest import ODD_REASON
from tests.support.data_folder import query_rows
from tests.support.parsed_page import Parsed, parse


@pytest.fixture(scope="module")
def page(compared_text: str) -> Parsed:
    return parse(compared_text)


def test_sample_quality_and_why_attempts_were_rejected(page: Parsed) -> None:
    rows = page.table_with("Method", "Rephraser", "n samples")[1:]
    assert [row[0] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    assert rows[3][2:] == ["58", "100.0\u00a0%", "0.0\u00a0%", "0.0\u00a0%", "1.00", "8", "2"]
    reasons = page.table_with("Reason")[1:]
    assert [row[:4] for row in reasons] == [
        [ODD_REASON, "writer", "2", "16"],
        ["polarity", "writer", "1", "16"],
    ]
    assert reasons[0][4] == "12.5\u00a0%"


def test_grades_with_the_agreement_of_the_graders(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Method", "Reliability")[1:]
    assert [row[0] for row in rows] == ["llmeval", "pretexeval", "all methods"]
    (view_row,) = query_rows(compared, "from human_review where method = 'pretexeval'")
    assert rows[1][1] == f"2.67\nα {view_row['reliability_agreement']:.2f}"
    assert rows[1][2:] == ["2.00", "1.00", "6", "2", "3"]
