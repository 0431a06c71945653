"""The artifact with the facets of an edition's questions."""

from pathlib import Path
from typing import Any

import pytest

from flows.support import artifacts
from tests.support.data_folder import DataFolder
from tests.support.question_folder import QuestionFolder
from tests.support.question_models import always_right, fill_points
from warehouse.publishing import build_warehouse

EDITION = "facets-seed1-00000001"


def test_facets_are_shown_where_questions_were_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill_points(QuestionFolder(DataFolder(tmp_path / "data")))
    folder.write_edition(EDITION)
    folder.data.write_model("right")
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(artifacts, "create_table_artifact", lambda table, **_: shown.extend(table))
    build_warehouse(folder.data.root)
    artifacts.show_facets(folder.data.root, EDITION)
    assert shown == []
    folder.write_answers(EDITION, "right", always_right)
    build_warehouse(folder.data.root)
    artifacts.show_facets(folder.data.root, EDITION)
    assert shown == [
        {
            "model": "Right",
            "setting": "answer_only",
            "comparison %": 100.0,
            "rectification %": 100.0,
            "discrimination %": 100.0,
            "verification %": 100.0,
            "average %": 100.0,
            "random average %": 26.7,
            "mastered %": 100.0,
            "mastered with negated %": 100.0,
            "no answer %": 0.0,
            "failed %": 0.0,
            "points": 14,
        }
    ]
