"""Runs that are started by hand, on a server that others use: how the server recognises and watches them."""

import os
from pathlib import Path

import pytest
from prefect.context import TagsContext

from commands import in_process
from pretexeval.primitives.errors import InputError


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


@pytest.mark.parametrize("place", ["file", "file/below", "link"])
def test_a_home_of_prefect_that_cannot_be_a_folder_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "else")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / place))
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with pytest.raises(InputError, match=rf"PREFECT_HOME is {tmp_path / place}, which cannot be a folder"):
        in_process.prepare_prefect(tmp_path / "data")
