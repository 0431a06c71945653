"""The outcome of a run: its state on the server, and how the caller of a flow learns it.

Prefect's client repeats a request whose answer was lost. If that request ends a run, the server then returns
the state that it has stored, which has the message of the run but not its result. So callers take results
from the records and files that a flow writes, and from a state only whether and why the run failed.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from prefect import Flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, get_state_exception

Result = TypeVar("Result")


def complete_with(result: Result, message: str) -> Result:
    """Return what a flow or a task returns so that its state has this message."""
    # Prefect takes the result out of the state, which its types do not say.
    return cast(Result, Completed(message=message, data=result))


def call_flow(called: Flow[..., Any], **parameters: object) -> str:
    """Run a flow in this process, and return the message of its final state, or "".

    Raises:
        Exception: the error of the flow.
    """
    # Prefect's types do not say that a flow of any parameters returns its state.
    state = cast("State[Any]", called(**parameters, return_state=True))
    if not state.is_completed():
        # In a notebook an event loop runs, and Prefect would return a coroutine in place of the error.
        raise cast(Callable[..., BaseException], get_state_exception)(state, _sync=True)
    return state.message or ""
