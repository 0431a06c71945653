"""The time limit of deployment runs, and the retries of their tasks.

Only transient errors are retried, such as a lost connection or a mounted folder that is unavailable for a
moment. A wrong configuration, a refused key or an expectation that is not met would fail again.
"""

import errno
import os
from collections.abc import Iterator
from typing import Any, TypedDict

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun

from pretexeval.primitives.errors import InputError

TIME_LIMIT_VARIABLE = "PRETEXEVAL_TIME_LIMIT_H"
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


class Retries(TypedDict):
    """The options of a Prefect task that concern retries."""

    retries: int
    retry_delay_seconds: list[float]
    retry_condition_fn: Any


def read_time_limit() -> float | None:
    """Return the time limit of the deployment in seconds; null for a run in the process of a command.

    prefect.yaml sets the variable for each deployment.

    Raises:
        InputError: the variable is not a number of hours.
    """
    text = os.environ.get(TIME_LIMIT_VARIABLE)
    if text is None:
        return None
    try:
        hours = float(text)
    except ValueError:
        hours = 0
    if not hours > 0:
        raise InputError(f"{TIME_LIMIT_VARIABLE} = {text!r}: give a number of hours, as prefect.yaml does")
    return 3600 * hours


def is_transient(error: BaseException | None) -> bool:
    """Return whether a retry can help, judging by the error and its chain of causes."""
    return any(_is_transient_itself(cause) for cause in _list_causes(error))


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_transient_itself(error: BaseException) -> bool:
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return isinstance(error, OSError) and error.errno in TRANSIENT_ERRNOS


def _has_transient_error(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.data, BaseException) and is_transient(state.data)


RETRIES: Retries = {
    "retries": 3,
    "retry_delay_seconds": [10, 60, 300],
    "retry_condition_fn": _has_transient_error,
}
