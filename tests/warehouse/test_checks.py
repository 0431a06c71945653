"""The table checks, loaded from the reports of validations."""

import json
from pathlib import Path

import pytest

from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import key_content, write_record
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse import catalogue
from warehouse.publishing import build_warehouse


@pytest.fixture(autouse=True)
def _only_needed_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "ESTIMATES", ())
    monkeypatch.setattr(catalogue, "VIEWS", ("freshness", "checks", "check_history"))


def write_report(data: DataFolder, name: str, **changes: object) -> Path:
    """Write a report about the triplets of the edition, in which one expectation is broken by two rows."""
    manifest = json.loads((data.root / "editions" / EDITION / "manifest.json").read_text())
    files = [entry for path, entry in manifest["files"].items() if path.startswith("triplets/")]
    check = {"column": "head, tail", "meaning": "it holds", "is_warning": True, "examples": []}
    report = {
        "key": name,
        "stage": "triplets",
        "context": EDITION,
        "n_rows": sum(file["rows"] for file in files),
        "checks": [check | {"expectation": "e", "success": False, "n_unexpected": 2}],
        "content": key_content("triplets", [file["sha256"] for file in files]),
        "checked_at": "2026-11-20T12:00:00+02:00",
    }
    path: Path = data.root / checks_record(EDITION, name)
    write_record(path, report | changes)
    return path


def publish(data: DataFolder) -> list[Row]:
    build_warehouse(data.root)
    return data.query("select * replace (checked_at::varchar as checked_at) from checks")


def test_report_is_loaded(data: DataFolder) -> None:
    write_report(data, "triplets", context="the first edition with these rows")
    assert publish(data) == [
        {
            "edition_id": EDITION,
            "model_id": None,
            "model": None,
            "setting": None,
            "stage": "triplets",
            "expectation": "e",
            "checked_columns": "head, tail",
            "requirement": "it holds",
            "is_passed": False,
            "n_rows": 10,
            "n_unexpected": 2,
            "checked_at": "2026-11-20 10:00:00",
        }
    ]


def test_damaged_report_is_named_and_left_out(data: DataFolder, caplog: pytest.LogCaptureFixture) -> None:
    path = write_report(data, "triplets")
    path.write_text(path.read_text().replace("it holds", "it does"))
    assert publish(data) == []
    assert f"{path} is damaged" in caplog.text
