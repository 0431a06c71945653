"""Runs that are started by hand: how a shared server recognises them, and what they print at their end."""

import os
import re
from pathlib import Path

import pytest
from prefect.context import TagsContext

from commands import in_process
from commands.main import main
from pretexeval.primitives.errors import InputError
from tests.support.command import write_config
from tests.support.data_folder import DataFolder
from tests.support.question_folder import Point, QuestionFolder
from tests.support.question_models import erratic
from tests.support.simulated_models import expert
from warehouse.publishing import build_warehouse

EDITIONS = ("bank-seed1-00000001", "bank-seed1-00000002")


def test_a_run_by_hand_is_tagged_and_sends_heartbeats_before_the_automation_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_LOCAL_STORAGE_PATH", "set back after the test")
    monkeypatch.setenv("PRETEXEVAL_INSTALLATION", "lab")
    # Prefect's default, with which the server would take a healthy run for lost after 90 s.
    monkeypatch.setenv("PREFECT_FLOWS_HEARTBEAT_FREQUENCY", "180")
    monkeypatch.setattr(in_process, "require_named_server", lambda: None)
    with in_process._begin_flows(tmp_path):
        assert os.environ["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
        assert TagsContext.get().current_tags == {"pretexeval:lab"}
    assert TagsContext.get().current_tags == set()
    # A server that was started here has no automations, and looking for the limits of a tag costs time.
    monkeypatch.setattr(in_process, "is_own_server", lambda: True)
    with in_process._begin_flows(tmp_path):
        assert TagsContext.get().current_tags == set()


def test_a_home_of_prefect_that_cannot_be_a_folder_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "else")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    for home in (tmp_path / "file" / "below", tmp_path / "link"):
        monkeypatch.setenv("PREFECT_HOME", str(home))
        with pytest.raises(InputError, match=rf"PREFECT_HOME is {home}, which cannot be a folder"):
            in_process.prepare_prefect(tmp_path / "data")


def test_a_run_prints_one_row_of_a_model_with_repeats_and_its_facets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first edition has samples, the other one has questions alone."""
    data = DataFolder(tmp_path / "data")
    for k in range(3):
        data.add_pair("symptoms", f"Disease {k}", "Fever", "Cough")
    data.write_edition(EDITIONS[0])
    data.write_model("expert")
    data.write_answers(EDITIONS[0], "expert", expert, n_repeats=3)
    points = [Point("symptoms", f"Disease {k}", has_pair=False) for k in range(3)]
    questions = QuestionFolder(DataFolder(data.root), points)
    questions.write_edition(EDITIONS[1])
    data.write_model("erratic")
    questions.write_answers(EDITIONS[1], "erratic", erratic, setting="chain_of_thought")
    paths = [build_warehouse(data.root), tmp_path / "page"]

    def report(edition_id: str) -> str:
        end = in_process.RunReport(edition_id, paths, {})
        monkeypatch.setattr(in_process, "run_all", lambda *_: end)
        assert main(["run", str(write_config(tmp_path / "c.toml", data.root))]) == 0
        return capsys.readouterr().out

    said = report(EDITIONS[0])
    assert len(re.findall(r"^ *1 +Expert ", said, re.MULTILINE)) == 1
    assert "Expert (pretexeval, strict): the leaderboard shows the first of 3 repeats. Their mean" in said
    said = report(EDITIONS[1])
    # Only samples have a leaderboard.
    assert "no model has been evaluated on this edition yet" not in said
    assert re.search(r"^Erratic +chain_of_thought ", said, re.MULTILINE)
    assert re.search(r"^random answers ", said, re.MULTILINE)
