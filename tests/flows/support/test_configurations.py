"""How a run gets its configuration: from a form of the UI, or from the run that starts it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect import Flow, runtime
from prefect.client.schemas.objects import FlowRun
from prefect.utilities.callables import parameter_schema

from cli import in_process
from config.file import Config
from flows.build_test_set import build_test_set
from flows.evaluate_model import evaluate_model
from flows.publish import publish
from flows.rephrase_samples import rephrase_samples
from flows.support import dispatch
from flows.support.configurations import find_config, name_artifact
from primitives.errors import InputError

# What a form of the UI asks for.
FORMS: dict[Flow[..., Any], set[str]] = {
    build_test_set: {"config_file", "moment"},
    rephrase_samples: {"config_file", "moment"},
    evaluate_model: {"config_file", "edition_id", "model_name", "setting", "period"},
    publish: {"config_file", "edition_id"},
}


@pytest.mark.parametrize("flow", FORMS, ids=lambda flow: flow.name)
def test_form_asks_for_a_file_and_a_run_may_still_pass_a_configuration(flow: Flow[..., Any]) -> None:
    schema = parameter_schema(flow.fn)
    assert set(schema.properties) == FORMS[flow]
    assert all(each["description"] for each in schema.properties.values())
    assert schema.required == (["edition_id", "model_name"] if flow is evaluate_model else [])
    # Runs of the version before pass only this, as JSON.
    given = {"config": Config().model_dump(mode="json", exclude={"schedule"})}
    names = {"edition_id": "e", "model_name": "m"} if flow is evaluate_model else {}
    assert flow.validate_parameters(given | names)["config"] == Config()


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
    assert name_artifact("leaderboard") == key


def test_flows_of_a_command_carry_the_name_of_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.flow_run, "parameters", {}, raising=False)
    monkeypatch.setattr(in_process, "wait_for_server", lambda: None)
    with in_process._begin_flows(Path("configs/mine.toml")):
        assert name_artifact("leaderboard") == "leaderboard-mine"
    assert name_artifact("leaderboard") == "leaderboard"


def test_runs_that_a_run_starts_inherit_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(dispatch, "_run_in_process", lambda _, parameters: asked.append(parameters))
    monkeypatch.setattr(runtime.flow_run, "parameters", {"config_file": Path("a.toml")}, raising=False)
    dispatch.run_subflows(publish, [{"edition_id": "e"}])
    assert asked == [{"config_file": "a.toml", "edition_id": "e"}]


def test_started_run_gets_what_differs_from_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment that the version before registered would refuse a table that it does not know."""
    asked: list[dict[str, Any]] = []

    def create(_: str, parameters: dict[str, Any], **__: object) -> FlowRun:
        asked.append(parameters)
        return FlowRun.model_construct(id=uuid4())

    monkeypatch.setattr(dispatch, "run_deployment", create)
    monkeypatch.setattr(runtime.flow_run, "id", "1", raising=False)
    monkeypatch.setattr(runtime.flow_run, "run_count", 1, raising=False)
    config = Config.model_validate({"edition": {"label": "2026-W47", "seed": 7}})
    dispatch._create_run(publish, {"config": config}, "0")
    assert asked == [{"config": {"edition": {"label": "2026-W47", "seed": 7}}}]
    assert publish.validate_parameters(asked[0])["config"] == config
