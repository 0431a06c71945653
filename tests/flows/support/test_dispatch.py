import logging
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest
from prefect import flow, runtime
from prefect.client.schemas.objects import FlowRun, State, StateType

from flows.support import dispatch

RUN = FlowRun.model_construct(name="run")
REQUEST = httpx.Request("GET", "http://127.0.0.1/api")


def refuse(status: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError(str(status), request=REQUEST, response=httpx.Response(status))


def answer_after(*errors: httpx.HTTPError) -> Callable[[], FlowRun]:
    waiting = list(errors)

    def request() -> FlowRun:
        if waiting:
            raise waiting.pop(0)
        return RUN

    return request


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0)


def test_request_is_retried_while_the_server_is_unavailable() -> None:
    errors = [httpx.ConnectError("gone"), httpx.ReadTimeout("silent"), refuse(500), refuse(503)]
    assert dispatch.retry_while_unavailable(answer_after(*errors)) is RUN


def test_refused_request_is_not_retried() -> None:
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        dispatch.retry_while_unavailable(answer_after(refuse(404)))


def name_run(_: object = None) -> str:
    return "evaluate"


@flow(flow_run_name=name_run)
def evaluate() -> None: ...


def test_runs_of_one_flow_about_different_editions_have_different_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys: list[str] = []

    def run_deployment(_: str, *, idempotency_key: str, **__: object) -> FlowRun:
        keys.append(idempotency_key)
        return FlowRun.model_construct(id=uuid4())

    monkeypatch.setattr(dispatch, "run_deployment", run_deployment)
    for edition_id in ("anchors", "week", "week"):
        dispatch._create_run(evaluate, {"edition_id": edition_id, "config_file": Path("a.toml")}, "0-0")
    assert keys[1] == keys[2] != keys[0]


class Server:
    """A server whose workers take a run after two polls, and whose runs end one poll later."""

    def __init__(self, *ends: StateType) -> None:
        self.ends = list(ends)
        self.states: dict[UUID, list[StateType]] = {}
        self.most_scheduled = 0
        self.pools: list[object] = []

    def create(self, *arguments: object) -> UUID:
        run_id = uuid4()
        self.pools.append(arguments[-1])
        self.states[run_id] = [*[StateType.SCHEDULED] * 2, StateType.RUNNING, self.ends.pop(0)]
        scheduled = [states for states in self.states.values() if states[0] == StateType.SCHEDULED]
        self.most_scheduled = max(self.most_scheduled, len(scheduled))
        return run_id

    def read(self, run_id: UUID) -> State[object]:
        states = self.states[run_id]
        found = states[0]
        if len(states) > 1:
            states.pop(0)
        return State(type=found, name=found.name.title(), message=f"ended as {found.name}")


@pytest.fixture
def run_on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str | None]]:
    def run(server: Server, n_calls: int, *pools: str) -> list[str | None]:
        monkeypatch.setattr(dispatch, "_create_run", server.create)
        monkeypatch.setattr(dispatch, "_read_state", server.read)
        monkeypatch.setattr(dispatch, "get_run_logger", lambda: logging.getLogger("test"))
        monkeypatch.setattr(runtime.deployment, "id", "deployed", raising=False)
        return dispatch.run_subflows(evaluate, [{}] * n_calls, pools)

    return run


def test_one_run_at_a_time_waits_for_a_worker(run_on: Callable[..., list[str | None]]) -> None:
    server = Server(*[StateType.COMPLETED] * 3)
    assert run_on(server, 3) == [None, None, None]
    assert server.most_scheduled == 1
    assert server.pools == ["gpu"] * 3


def test_lost_run_is_started_again_and_failures_do_not_stop_others(
    run_on: Callable[..., list[str | None]],
) -> None:
    server = Server(StateType.CRASHED, StateType.FAILED, StateType.COMPLETED)
    assert run_on(server, 2) in ([None, "ended as FAILED"], ["ended as FAILED", None])
    assert len(server.states) == 3
