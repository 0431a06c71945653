"""Ends of runs: those cancelled on Prefect's server end by themselves, and a failure ends with its cause.

A worker ends the process of a run that is cancelled in the UI. Nothing ends a run of a command, a run whose
state was set by the API, or, for some time, the runs that a cancelled run has started.
"""

import contextlib
import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import httpx
from prefect import get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.context import TagsContext
from prefect.exceptions import CancelledRun, ObjectNotFound
from prefect.states import Cancelled

from flows.support.runs import list_causes
from pretexeval.primitives.errors import InputError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
RUN_OF_WORKER = "PREFECT__FLOW_RUN_ID"
"""The variable by which a worker tells a process which run it is."""


class RunCancelledError(BaseException):
    """This run was cancelled. Like an interrupt, it is no failure of a model."""


def is_cancelled() -> bool:
    """Return whether this run, or one of those that led to it, was cancelled."""
    run_id = runtime.flow_run.id
    if run_id is None:
        return False
    # A server that is unavailable is no reason to stop.
    with contextlib.suppress(httpx.HTTPError, ObjectNotFound), get_client(sync_client=True) as client:
        while run_id is not None:
            run = client.read_flow_run(run_id)
            if run.state is not None and (run.state.is_cancelling() or run.state.is_cancelled()):
                return True
            parent = run.parent_task_run_id
            run_id = client.read_task_run(parent).flow_run_id if parent else None
    return False


def was_cancelled_while_starting() -> bool:
    """Return whether this run, which has just begun, was cancelled since it was last scheduled.

    Prefect's worker sets the state Cancelled of a run whose process is about to start, and its server lets
    such a run begin.
    """
    run_id = runtime.flow_run.id
    if run_id is None:
        return False
    with contextlib.suppress(httpx.HTTPError), get_client(sync_client=True) as client:
        for state in reversed(client.read_flow_run_states(run_id)):
            if state.is_cancelling() or state.is_cancelled():
                return True
            if state.is_scheduled():
                break
    return False


def require_not_cancelled() -> None:
    """Raise RunCancelledError if this run, or one of those that led to it, was cancelled."""
    if is_cancelled():
        raise RunCancelledError


def end_when_cancelled(flow: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let the run of this flow end in the state Cancelled if it, or one that it called, was cancelled.

    In the process of a worker, the error of a failed run loses its frames, so that the log ends with its
    message. Prefect would log them three times. It also keeps the error until the process ends, and DuckDB
    then prints 70 lines about what the frames hold. The flow's tasks do not inherit the tags of its run.
    """

    @functools.wraps(flow)
    def run(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            if was_cancelled_while_starting() or is_cancelled():
                raise RunCancelledError
            # The flow run already has its tags. For a task run with tags, Prefect first asks the server for
            # their concurrency limits.
            with TagsContext(current_tags=set()):
                return flow(*arguments, **options)
        except (RunCancelledError, Exception) as error:
            # A query of DuckDB turns the signal by which a worker ends a cancelled run into another error.
            if not isinstance(error, RunCancelledError | CancelledRun) and not is_cancelled():
                if RUN_OF_WORKER in os.environ:
                    if not isinstance(error, InputError):
                        get_run_logger().exception("unexpected error")
                    for cause in list_causes(error):
                        cause.__traceback__ = cause.__context__ = None
                raise
        message = "cancelled; what was done so far is kept: run it again to continue"
        return cast("Result", Cancelled(message=message))

    return run
