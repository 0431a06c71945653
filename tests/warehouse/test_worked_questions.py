"""The queries of docs/questions.md on a published warehouse, compared with what the models were made to know.

Whatever can be computed without the warehouse is computed in polars from the Parquet files.
"""

import re
from pathlib import Path

import pytest

from tasks.quality import validation
from tasks.quality.validation_report import ValidationReport
from tests.support import answers_about_data, answers_about_scores
from tests.support.analyst_folder import AnalystFolder, publish_analyst_folder
from tests.support.checked_answers import CHECKS
from tests.support.data_folder import query_rows

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
QUESTION = re.compile(r"^## (?P<question>.+\?)\n\n```sql\n(?P<sql>[^`]+)\n```\n\n\S", re.MULTILINE)
QUERIES = {match["question"]: match["sql"] for match in QUESTION.finditer(PAGE.read_text(encoding="utf-8"))}
# A question that needs more lines needs a view.
MAX_LINES = 15
# These modules fill CHECKS.
MODULES = (answers_about_scores, answers_about_data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> AnalystFolder:
    with pytest.MonkeyPatch.context() as patch:
        # Great Expectations takes half a second for each stage of each evaluation.
        patch.setattr(
            validation, "validate_stage", lambda s, rows, _: ValidationReport(s.name, "", len(rows), ())
        )
        return publish_analyst_folder(tmp_path_factory.mktemp("analyst"))


def test_page_has_a_checked_answer_for_every_question() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == list(QUERIES)
    assert sorted(headings) == sorted(CHECKS)
    assert len(headings) >= 20


@pytest.mark.parametrize("question", QUERIES)
def test_query_answers_the_question(folder: AnalystFolder, question: str) -> None:
    sql = QUERIES[question]
    assert len(sql.splitlines()) <= MAX_LINES
    rows = query_rows(folder.root, sql)
    assert rows
    CHECKS[question](folder, rows)
