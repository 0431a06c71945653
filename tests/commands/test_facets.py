"""What the command prints about the questions of an edition, at the end of a run."""

import re
from pathlib import Path

import pytest

from commands import in_process
from commands.main import main
from tests.support.command import write_config
from tests.support.data_folder import DataFolder
from tests.support.question_folder import Point, QuestionFolder
from tests.support.question_models import erratic
from tests.support.simulated_models import expert
from warehouse.publishing import build_warehouse

EDITION = "bank-seed1-00000001"


def test_a_run_prints_one_row_of_a_model_with_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = DataFolder(tmp_path / "data")
    for k in range(3):
        data.add_pair("symptoms", f"Disease {k}", "Fever", "Cough")
    data.write_edition(EDITION)
    data.write_model("expert")
    data.write_answers(EDITION, "expert", expert, n_repeats=3)
    report = in_process.RunReport(EDITION, [build_warehouse(data.root), tmp_path / "page"], {})
    monkeypatch.setattr(in_process, "run_all", lambda *_: report)
    assert main(["run", str(write_config(tmp_path / "c.toml", data.root))]) == 0
    said = capsys.readouterr().out
    assert len(re.findall(r"^ *1 +Expert ", said, re.MULTILINE)) == 1
    assert "Expert (pretexeval, strict): the leaderboard shows the first of 3 repeats. Their mean" in said


def test_a_run_prints_the_facets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = QuestionFolder(DataFolder(tmp_path / "data"))
    for k in range(3):
        folder.add_point(Point("symptoms", f"Disease {k}", has_pair=False))
    folder.write_edition(EDITION, ())
    folder.data.write_model("erratic")
    folder.write_answers(EDITION, "erratic", erratic, setting="chain_of_thought")
    warehouse = build_warehouse(tmp_path / "data")
    report = in_process.RunReport(EDITION, [warehouse, tmp_path / "page"], {})
    monkeypatch.setattr(in_process, "run_all", lambda *_: report)
    assert main(["run", str(write_config(tmp_path / "c.toml", tmp_path / "data"))]) == 0
    said = capsys.readouterr().out
    # Only samples have a leaderboard.
    assert "no model has been evaluated on this edition yet" not in said
    assert re.search(r"^Erratic +chain_of_thought ", said, re.MULTILINE)
    assert re.search(r"^random answers ", said, re.MULTILINE)
