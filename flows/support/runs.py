"""Parts that the flows share: the parameter `config`, time limits, retries of tasks, and outcomes of runs.

Prefect's client repeats a request whose answer was lost. If that request ends a run, the server then returns
the state that it has stored, which has the message of the run but not its result. So callers take results
from the records and files that a flow writes, and from a state only whether and why the run failed.
"""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from prefect import Flow, Task
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed, get_state_exception
from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import to_jsonable_python

from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError

Result = TypeVar("Result")
Parameters = dict[str, Any]
"""The parameters of a run, by their names."""
# prefect.yaml sets the variable of each deployment; a run in the process of a command has no limit.
TIME_LIMIT_S = 3600 * float(os.environ.get("PRETEXEVAL_TIME_LIMIT_H", "0")) or None
# Errors of a folder of another host that is unavailable for a moment, and of a lock on it.
TRANSIENT_ERRNOS = {
    errno.EAGAIN,
    errno.EBUSY,
    errno.EHOSTUNREACH,
    errno.EIO,
    errno.ENETUNREACH,
    errno.ENOLCK,
    errno.ESTALE,
    errno.ETIMEDOUT,
}


def read_config(given: str | Path) -> Config:
    """Return the configuration of a file; a bare name such as `quickstart` is a file of configs/.

    Raises:
        InputError: the file is not valid.
    """
    file = Path(given)
    named = Path("configs", f"{file}.toml")
    return load_config(named if not file.suffix and not file.exists() and named.exists() else file)


def _read_given(given: object) -> object:
    if not isinstance(given, str | Path):
        return given
    text = str(given)
    return Config.model_validate_json(text) if text.startswith("{") else read_config(given)


GivenConfig = Annotated[Config, BeforeValidator(_read_given), WithJsonSchema({"type": "string"})]
"""The parameter of a flow for its configuration.

A person names a file in the form of the Prefect UI. A run that starts another run passes the configuration
itself as JSON, so that a file that is edited meanwhile changes nothing.
"""


def render_parameters(parameters: Parameters) -> Parameters:
    """Return the parameters of a flow as JSON; the configuration is the text that `GivenConfig` reads."""
    config = cast(Config, parameters["config"]).model_dump_json(exclude_defaults=True)
    return cast(Parameters, to_jsonable_python(parameters | {"config": config}))


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


@dataclass(frozen=True)
class Outcome:
    """The end of a run."""

    message: str
    """A summary of what the run did, or the reason why it failed."""
    has_failed: bool = False


def describe_end(state: State[Any]) -> Outcome:
    """Return the end of a run in a final state, without the words that Prefect puts before the message."""
    message = (state.message or "").removeprefix("Flow run encountered an exception: ")
    message = message.removeprefix(f"{InputError.__name__}: ")
    if state.is_completed():
        return Outcome(message)
    return Outcome(message or state.name or "it failed", has_failed=True)


def is_transient(error: BaseException | None) -> bool:
    """Return whether a retry can help, judging by the error and its chain of causes.

    A lost connection or a mounted folder that is unavailable for a moment is transient. A wrong
    configuration, a refused key or an expectation that is not met would fail again.
    """
    return any(
        isinstance(cause, ConnectionError | TimeoutError)
        or (isinstance(cause, OSError) and cause.errno in TRANSIENT_ERRNOS)
        for cause in list_causes(error)
    )


def list_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, its cause, the cause of that, and so on."""
    while error is not None:
        yield error
        error = error.__cause__


def _has_transient_error(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.data, BaseException) and is_transient(state.data)


RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": [10, 60, 300],
    "retry_condition_fn": _has_transient_error,
}
"""The options of a Prefect task that concern retries."""
