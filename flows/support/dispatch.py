"""Where a part that loads a model runs: in this process, or as a deployment run in the pool `gpu`.

A flow that was started by hand calls it like any function. One that is a deployment run itself leaves it to
the workers of the pool, waits without holding a GPU, and sends again what a lost worker left behind. It also
waits for a server, or its database, that is away for a while.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import httpx
from prefect import Flow, get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.deployments import run_deployment

from primitives.errors import InputError

POLL_S = 2.0
# How often a part whose worker was lost is sent again.
MAX_CRASHES = 3
# A server that is upgraded migrates its database first.
SERVER_PATIENCE_S = 1800.0

Parameters = dict[str, Any]


def run_parts(part: Flow[..., Any], calls: Sequence[Parameters]) -> list[str | None]:
    """Run a flow once for each set of parameters; for each why it failed, or null.

    One that fails does not stop the others.
    """
    if runtime.deployment.id is None:
        return [_call(part, parameters) for parameters in calls]
    n_crashes = dict.fromkeys(range(len(calls)), 0)
    runs = {number: _send(part, parameters, f"{number}-0") for number, parameters in enumerate(calls)}
    reasons: dict[int, str | None] = {}
    while runs:
        time.sleep(POLL_S)
        for number, run_id in list(runs.items()):
            state = _read_state(run_id)
            if state is None or not state.is_final():
                continue
            if state.type == StateType.CRASHED and n_crashes[number] < MAX_CRASHES:
                n_crashes[number] += 1
                get_run_logger().warning("%s lost its worker; it is sent again", part.name)
                runs[number] = _send(part, calls[number], f"{number}-{n_crashes[number]}")
                continue
            del runs[number]
            is_done = state.type == StateType.COMPLETED
            reasons[number] = None if is_done else state.message or state.name or "it failed"
    return [reasons[number] for number in range(len(calls))]


def require_part(part: Flow[..., Any], parameters: Parameters) -> None:
    """Run a flow that has to succeed.

    Raises:
        InputError: why it failed.
    """
    (reason,) = run_parts(part, [parameters])
    if reason is not None:
        raise InputError(reason)


def _call(part: Flow[..., Any], parameters: Parameters) -> str | None:
    try:
        part(**parameters)
    except InputError as error:
        return str(error)
    return None


def _send(part: Flow[..., Any], parameters: Parameters, key: str) -> UUID:
    """The id of a new run of the flow's deployment, which has the flow's own name.

    Args:
        key: tells it from the other runs that this run sends, so that none is sent twice when it is unclear
            whether the server has heard of it.
    """
    as_json = {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        for name, value in parameters.items()
    }
    sender = f"{runtime.flow_run.id}-{runtime.flow_run.run_count}"

    def send() -> FlowRun:
        run = run_deployment(
            f"{part.name}/{part.name}",
            parameters=as_json,
            timeout=0,
            idempotency_key=f"{sender}-{part.name}-{key}",
        )
        assert isinstance(run, FlowRun)
        return run

    return persist(send).id


def _read_state(run_id: UUID) -> State[Any] | None:
    def read() -> FlowRun:
        with get_client(sync_client=True) as client:
            return client.read_flow_run(run_id)

    return persist(read).state


def persist(ask: Callable[[], FlowRun]) -> FlowRun:
    """What the server says, as soon as it says anything.

    Raises:
        PrefectHTTPStatusError: if it refuses.
    """
    deadline = time.monotonic() + SERVER_PATIENCE_S
    while True:
        try:
            return ask()
        except httpx.HTTPError as error:
            is_refusal = isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500
            if is_refusal or time.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)
