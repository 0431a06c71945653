"""Where a part that loads a model runs: in this process, or as a deployment run in the pool `gpu`.

A flow that was started by hand calls it like any function. One that is a deployment run itself leaves it to
the workers of the pool, waits without holding a GPU, and sends again what a lost worker left behind.
"""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from prefect import Flow, get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.deployments import run_deployment

from schemas.errors import InputError

POLL_S = 2.0
# How often a part whose worker was lost is sent again.
MAX_CRASHES = 3

Parameters = dict[str, Any]


def run_parts(part: Flow[..., Any], calls: Sequence[Parameters]) -> list[str | None]:
    """Run a flow once for each set of parameters; for each why it failed, or null.

    One that fails does not stop the others.
    """
    if runtime.deployment.id is None:
        return [_call(part, parameters) for parameters in calls]
    runs = {number: _send(part, parameters) for number, parameters in enumerate(calls)}
    n_crashes = dict.fromkeys(runs, 0)
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
                runs[number] = _send(part, calls[number])
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


def _send(part: Flow[..., Any], parameters: Parameters) -> UUID:
    """The id of a new run of the flow's deployment, which has the flow's own name."""
    as_json = {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        for name, value in parameters.items()
    }
    run = run_deployment(f"{part.name}/{part.name}", parameters=as_json, timeout=0)
    assert isinstance(run, FlowRun)
    return run.id


def _read_state(run_id: UUID) -> State[Any] | None:
    with get_client(sync_client=True) as client:
        return client.read_flow_run(run_id).state
