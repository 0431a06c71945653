"""How a run gets its configuration: from a form of the UI, or from the run that starts it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect import runtime

from flows.publish import publish
from flows.support import dispatch
from flows.support.configurations import find_config, name_artifact
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError


def test_planned_configuration_is_used_and_not_the_file(tmp_path: Path) -> None:
    planned = Config.model_validate({"edition": {"seed": 7}})
    assert find_config(planned, tmp_path / "lost.toml") is planned


def test_file_may_be_named_by_its_stem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "mine.toml").write_text("[edition]\nseed = 7\n")
    for name in ("mine", "configs/mine.toml"):
        assert find_config(None, Path(name)).edition.seed == 7
    moment = datetime(2026, 11, 16, tzinfo=UTC)
    assert find_config(None, Path("mine"), moment).edition.label == "2026-W47"
    with pytest.raises(InputError, match="lost cannot be read"):
        find_config(None, Path("lost"))
    with pytest.raises(InputError, match="config_file is missing; give a configuration"):
        find_config(None, None)


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (Path("configs/quickstart.toml"), "leaderboard-quickstart"),
        ("configs/My base_2.toml", "leaderboard-my-base-2"),
        ("mine", "leaderboard-mine"),
        (None, "leaderboard"),
    ],
)
def test_key_of_an_artifact_carries_the_name_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, file: Path | str | None, key: str
) -> None:
    monkeypatch.setattr(runtime.flow_run, "parameters", {"config_file": file}, raising=False)
    assert name_artifact("leaderboard", Config(), None) == key


def test_runs_that_a_run_starts_inherit_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(dispatch, "_run_in_process", lambda _, parameters: asked.append(parameters))
    monkeypatch.setattr(runtime.flow_run, "parameters", {"config_file": Path("a.toml")}, raising=False)
    dispatch.run_subflows(publish, [{"edition_id": "e"}])
    assert asked == [{"config_file": "a.toml", "edition_id": "e"}]
