"""How long a deployment run may take, and what is tried again within it.

What stops a run for good (a configuration, a key that is refused, an expectation that is not met) is the
same the second time. What passes by itself (a connection, a mounted folder that is gone for a moment) is not.
"""

import errno
import os
from collections.abc import Iterator
from typing import Any, TypedDict

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun

from primitives.errors import InputError

VARIABLE = "PRETEXEVAL_TIME_LIMIT_H"
# A folder of another host that is away for a moment, and a lock on it.
PASSING = {
    errno.EAGAIN,
    errno.EBUSY,
    errno.EHOSTUNREACH,
    errno.EIO,
    errno.ENETUNREACH,
    errno.ENOLCK,
    errno.ESTALE,
    errno.ETIMEDOUT,
}


class Retries(TypedDict):
    """Options of a Prefect task."""

    retries: int
    retry_delay_seconds: list[float]
    retry_condition_fn: Any


def read_time_limit() -> float | None:
    """Seconds, from what prefect.yaml says of the deployment; none for runs in the process of a command.

    Raises:
        InputError: if it is not a number of hours.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    try:
        hours = float(text)
    except ValueError:
        hours = 0
    if not hours > 0:
        raise InputError(f"{VARIABLE} = {text!r}: give a number of hours, as prefect.yaml does")
    return 3600 * hours


def may_pass(error: BaseException | None) -> bool:
    """Whether trying again can help, by the error itself or what it was raised from."""
    return any(_is_passing(each) for each in _list_causes(error))


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_passing(error: BaseException) -> bool:
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return isinstance(error, OSError) and error.errno in PASSING


def _has_passing_error(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.data, BaseException) and may_pass(state.data)


RETRIES: Retries = {
    "retries": 3,
    "retry_delay_seconds": [10, 60, 300],
    "retry_condition_fn": _has_passing_error,
}
