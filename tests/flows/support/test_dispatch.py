"""Runs that a deployment run starts: their keys, their states, and the shards of a model."""

import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from prefect import flow, runtime
from prefect.client.schemas.objects import FlowRun, State, StateType, Worker, WorkerStatus

from flows.evaluate_model import evaluate_model
from flows.support import dispatch
from flows.support.runs import Outcome
from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from tasks.evaluation.missing_answers import Shard
from tasks.evaluation.schedule import Job, Part, plan_parts

RUN = FlowRun.model_construct(name="run")
REQUEST = httpx.Request("GET", "http://127.0.0.1/api")
LARGE = ModelConfig(name="large", model="x", workers=2, pool="gpu-4x80")
CONFIG = Config(models=(ModelConfig(name="small", model="x"), LARGE))
CALLS: list[dict[str, Any]] = [
    {"config": CONFIG, "edition_id": "e", "model_name": name} for name in ("small", "large")
]
DONE = Outcome("asked")
SHARDS = [Shard(number=1, of=2), Shard(number=2, of=2)]


def name_run(_: object = None) -> str:
    return "evaluate"


@flow(flow_run_name=name_run)
def evaluate() -> str:
    return ""


@pytest.fixture(autouse=True)
def _be_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0)
    monkeypatch.setattr(runtime.deployment, "id", "deployed", raising=False)
    monkeypatch.setattr(dispatch, "_read_workers", lambda _: [])


def refuse(status: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError(str(status), request=REQUEST, response=httpx.Response(status))


def test_request_is_retried_only_while_the_server_is_unavailable() -> None:
    errors = [httpx.ConnectError("gone"), httpx.ReadTimeout("silent"), refuse(500), refuse(503)]

    def request() -> FlowRun:
        if errors:
            raise errors.pop(0)
        return RUN

    assert dispatch.retry_while_unavailable(request) is RUN
    errors.append(refuse(404))
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        dispatch.retry_while_unavailable(request)


def test_runs_of_different_editions_and_shards_have_different_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect silently starts no second run for the same key."""
    keys: list[str] = []

    def run_deployment(_: str, *, idempotency_key: str, **__: object) -> FlowRun:
        keys.append(idempotency_key)
        return FlowRun.model_construct(id=uuid4())

    monkeypatch.setattr(dispatch, "run_deployment", run_deployment)
    more: list[dict[str, Any]] = [
        {},
        {"edition_id": "f"},
        {"is_asked": True},
        *({"shard": s} for s in SHARDS),
    ]
    for each in (*more, {}):
        dispatch._create_run(evaluate, CALLS[1] | each, "0-0", "gpu")
    assert len(set(keys)) == len(more)
    assert keys[0] == keys[-1]


def test_a_run_receives_the_configuration_of_the_run_that_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def run_deployment(_: str, *, flow_run_name: str, parameters: dict[str, Any], **__: object) -> FlowRun:
        given.update(parameters, name=flow_run_name)
        return FlowRun.model_construct(id=uuid4())

    monkeypatch.setattr(dispatch, "run_deployment", run_deployment)
    dispatch._create_run(evaluate_model, CALLS[0] | {"shard": SHARDS[0]}, "0-0", "gpu")
    assert given.pop("name") == "evaluate-small-e-shard-1-of-2"
    read = evaluate_model.validate_parameters(given)
    assert (read["config"], read["shard"]) == (CONFIG, SHARDS[0])


class Server:
    """A server whose workers take a run after two polls, and whose runs end one poll later."""

    def __init__(self, *ends: StateType) -> None:
        self.ends = list(ends)
        self.states: dict[UUID, list[StateType]] = {}
        self.pools: list[object] = []
        self.keys: set[object] = set()

    def create(self, *arguments: object) -> UUID:
        run_id = uuid4()
        self.pools.append(arguments[-1])
        self.keys.add(arguments[-2])
        self.states[run_id] = [*[StateType.SCHEDULED] * 2, StateType.RUNNING, self.ends.pop(0)]
        return run_id

    def read(self, run_ids: Sequence[UUID]) -> dict[UUID, State[object]]:
        found = {run_id: self.states[run_id].pop(0) for run_id in run_ids if run_id in self.states}
        return {
            run_id: State(type=kind, name=kind.name.title(), message=f"ended as {kind.name}")
            for run_id, kind in found.items()
        }


@pytest.fixture
def run_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Server, int], list[Outcome]]:
    def run(server: Server, n_calls: int) -> list[Outcome]:
        monkeypatch.setattr(dispatch, "_create_run", server.create)
        monkeypatch.setattr(dispatch, "_read_states", server.read)
        monkeypatch.setattr(dispatch, "get_run_logger", lambda: logging.getLogger("test"))
        return dispatch.run_subflows(evaluate, [{}] * n_calls, [CONFIG.models[0]] * n_calls)

    return run


def test_all_runs_wait_for_workers_together(run_on: Callable[[Server, int], list[Outcome]]) -> None:
    server = Server(*[StateType.COMPLETED] * 3)
    assert run_on(server, 3) == [Outcome("ended as COMPLETED")] * 3
    assert server.pools == ["gpu"] * 3


def test_a_deleted_run_has_failed(
    run_on: Callable[[Server, int], list[Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(StateType.COMPLETED)
    monkeypatch.setattr(server, "read", lambda _: {})
    (outcome,) = run_on(server, 1)
    assert outcome.has_failed
    assert "deleted" in outcome.message


def test_lost_run_is_started_again_and_failures_do_not_stop_others(
    run_on: Callable[[Server, int], list[Outcome]],
) -> None:
    server = Server(StateType.CRASHED, StateType.FAILED, StateType.COMPLETED)
    completed, failed = Outcome("ended as COMPLETED"), Outcome("ended as FAILED", has_failed=True)
    assert run_on(server, 2) in ([completed, failed], [failed, completed])
    assert len(server.states) == len(server.keys) == 3


Started = tuple[str, Shard | None, bool, str]
"""The model, the shard, whether it was asked before, and the pool."""


def run_shards(monkeypatch: pytest.MonkeyPatch, *failing: Shard) -> tuple[list[Outcome], list[Started]]:
    """Return the outcomes of both models, and the runs that were started."""
    started: list[Started] = []

    def run(_: object, calls: Sequence[dict[str, Any]], models: Sequence[ModelConfig]) -> list[Outcome]:
        for call, model in zip(calls, models, strict=True):
            is_asked = call.get("is_asked", False)
            started.append((call["model_name"], call.get("shard"), is_asked, model.work_pool))
        return [
            Outcome("it broke", has_failed=True) if call.get("shard") in failing else DONE for call in calls
        ]

    monkeypatch.setattr(dispatch, "run_subflows", run)
    return dispatch.run_evaluations(evaluate, [call | {"setting": None} for call in CALLS]), started


def test_shards_are_asked_and_then_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shards: list[Started] = [("large", shard, False, "gpu-4x80") for shard in SHARDS]
    outcomes, started = run_shards(monkeypatch)
    assert outcomes == [DONE, DONE]
    assert started == [("small", None, False, "gpu"), *shards, ("large", None, True, "gpu-4x80")]


def test_a_failed_shard_is_named_and_nothing_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    (small, large), started = run_shards(monkeypatch, SHARDS[1])
    assert small == DONE
    assert large == Outcome(
        "shard-2-of-2: it broke; the answers of all shards are kept, and the next run asks the others",
        has_failed=True,
    )
    assert not any(is_asked for _, _, is_asked, _ in started)


def test_the_cards_of_a_pool_share_the_prompts_of_a_model_without_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("host-1 (8 cards)", "host-2 (1 card)", "ProcessWorker 3", "lost (4 cards)")
    states = [WorkerStatus.ONLINE] * 3 + [WorkerStatus.OFFLINE]
    workers = [Worker.model_construct(name=n, status=state) for n, state in zip(names, states, strict=True)]
    monkeypatch.setattr(dispatch, "_read_workers", lambda pool: workers if pool == "gpu" else [])
    monkeypatch.setattr(dispatch, "plan_evaluation", lambda **call: call["model_name"])

    def schedule(models: list[str], n_cards: int) -> list[Part]:
        return plan_parts([Job(name, 1, asking_s=1e5) for name in models], n_cards)

    monkeypatch.setattr(dispatch, "schedule_evaluations", schedule)
    outcomes, started = run_shards(monkeypatch)
    assert outcomes == [DONE, DONE]
    assert [shard.name for _, shard, _, pool in started if shard and pool == "gpu"] == [
        f"shard-{number}-of-9" for number in range(1, 10)
    ]
    assert [shard for _, shard, _, pool in started if pool != "gpu"] == [*SHARDS, None]

    def miss(*_: object) -> list[Part]:
        raise InputError("the folder of the model is on another host")

    monkeypatch.setattr(dispatch, "schedule_evaluations", miss)
    _, started = run_shards(monkeypatch)
    assert [shard for _, shard, _, _ in started] == [None, *SHARDS, None]
