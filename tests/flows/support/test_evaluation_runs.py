from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import flow, runtime
from prefect.client.schemas.objects import FlowRun

from flows.support import dispatch
from flows.support.dispatch import run_evaluations
from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from tasks.evaluation.missing_answers import Shard

CONFIG = Config(
    models=(
        ModelConfig(name="small", model="x"),
        ModelConfig(name="large", model="x", workers=2, pool="gpu-4x80"),
    )
)
CALLS = [
    {"config": CONFIG, "edition_id": "e", "model_name": name, "setting": None} for name in ("small", "large")
]
SHARDS = [Shard(number=1, of=2), Shard(number=2, of=2)]


def name_run(_: object = None) -> str:
    return "evaluate"


@flow(flow_run_name=name_run)
def evaluate() -> str:
    return ""


class Runs:
    """The deployment runs that were started: the model, the shard, whether it was asked before, the pool."""

    def __init__(self, failing: Sequence[Shard] = ()) -> None:
        self.failing = failing
        self.started: list[tuple[str, Shard | None, bool, str]] = []

    def run(self, _: object, calls: Sequence[dict[str, Any]], pools: Sequence[str]) -> list[str | None]:
        for call, pool in zip(calls, pools, strict=True):
            self.started.append((call["model_name"], call.get("shard"), call.get("is_asked", False), pool))
        return ["it broke" if call.get("shard") in self.failing and self.failing else None for call in calls]


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.deployment, "id", "deployed", raising=False)


def test_shards_are_asked_and_then_scored_once(deployed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs()
    monkeypatch.setattr(dispatch, "run_subflows", runs.run)
    assert run_evaluations(evaluate, CALLS) == [None, None]
    assert runs.started == [
        ("small", None, False, "gpu"),
        ("large", SHARDS[0], False, "gpu-4x80"),
        ("large", SHARDS[1], False, "gpu-4x80"),
        ("large", None, True, "gpu-4x80"),
    ]


def test_a_failed_shard_is_named_and_nothing_is_scored(
    deployed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs([SHARDS[1]])
    monkeypatch.setattr(dispatch, "run_subflows", runs.run)
    small, large = run_evaluations(evaluate, CALLS)
    assert small is None
    assert large == (
        "shard-2-of-2: it broke; the answers of all shards are kept, and the next run asks the others"
    )
    assert not any(is_asked for _, _, is_asked, _ in runs.started)


def test_runs_of_shards_have_different_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect silently starts no second run for the same key."""
    keys: list[str] = []

    def run_deployment(_: str, *, idempotency_key: str, **__: object) -> FlowRun:
        keys.append(idempotency_key)
        return FlowRun.model_construct(id=uuid4())

    monkeypatch.setattr(dispatch, "run_deployment", run_deployment)
    more: list[dict[str, Any]] = [{}, {"is_asked": True}, *({"shard": shard} for shard in SHARDS)]
    created: list[UUID] = [
        dispatch._create_run(evaluate, CALLS[1] | {"config_file": Path("a.toml")} | each, "0-0")
        for each in more
    ]
    assert len(set(keys)) == len(created) == 4
