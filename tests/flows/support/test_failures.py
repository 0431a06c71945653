"""What flows show of models that failed: the artifact of the leaderboard, and records of lost workers."""

from pathlib import Path
from typing import Any

import pytest

from flows import regenerate
from flows.support import artifacts, dispatch
from pretexeval.config.file import Config
from pretexeval.storage.store import Store
from tasks.evaluation.failures import write_failure
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, query_rows
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Return an edition with a model that was evaluated and failed on 2 of its 64 samples."""
    small = fill_pairs(DataFolder(tmp_path / "data"))
    small.write_edition(EDITION)
    small.write_model("expert")

    def fail(sample: dict[str, Any]) -> str | None:
        return "HTTP 400: no" if sample["head"] == "Scurvy" and sample["transformation"] == "inv" else None

    small.write_answers(EDITION, "expert", simulated_models.expert, fail=fail, max_error_rate=0.05)
    return small


def test_leaderboard_artifact_lists_models_without_a_score(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config.model_validate({"storage": {"root": data.root}})
    write_failure(Store(config.storage), config, EDITION, "down", "the endpoint is down")
    write_failure(Store(config.storage), config, EDITION, "down", "nothing was imported", "answer_only")
    build_warehouse(data.root)
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(artifacts, "create_table_artifact", lambda table, **_: shown.extend(table))
    artifacts.show_leaderboard(config, EDITION)
    expert, down, unasked = shown
    assert expert["evaluated"] == "yes"
    assert (expert["model"], expert["failed %"], expert["no answer %"]) == ("Expert", 3.1, 0.0)
    assert list(down) == list(expert)
    assert {name: value for name, value in down.items() if value is not None} == {
        "model": "down",
        "evaluated": "not evaluated: the endpoint is down",
    }
    assert unasked["model"] == "down (answer_only)"


def test_model_whose_worker_is_lost_is_listed(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [
        {"name": name, "engine": "recorded", "model": str(data.root / "nothing")} for name in ("one", "two")
    ]
    config = Config.model_validate({"storage": {"root": data.root}, "models": models})
    write_failure(Store(config.storage), config, EDITION, "two", "vLLM cannot load it")
    lost: list[str | None] = ["the worker was lost", "Flow run encountered an exception"]
    monkeypatch.setattr(dispatch, "run_subflows", lambda *_: lost)
    assert list(regenerate.evaluate_models(config, EDITION).values()) == lost
    build_warehouse(data.root)
    assert query_rows(data.root, "select model, reason from not_evaluated") == [
        {"model": "one", "reason": "the worker was lost"},
        {"model": "two", "reason": "vLLM cannot load it"},
    ]
