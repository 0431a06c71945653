"""Which errors are retried, and how long a deployment run may take."""

import errno
import importlib
import pkgutil

import pytest
from prefect import Task
from prefect.client.schemas.objects import State
from prefect.states import Failed

import flows
from flows.support.retries import RETRIES, TIME_LIMIT_VARIABLE, is_transient, read_time_limit
from pretexeval.primitives.errors import InputError


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError("gone"),
        TimeoutError("the lock of another publisher"),
        OSError(errno.ESTALE, "Stale file handle"),
        raised(InputError("cannot be written"), OSError(errno.EIO, "Input/output error")),
        raised(ValueError("outer"), raised(InputError("inner"), ConnectionRefusedError("nobody there"))),
    ],
)
def test_transient_error_is_retried(error: Exception) -> None:
    assert is_transient(error)
    assert RETRIES["retry_condition_fn"](None, None, Failed(data=error))


@pytest.mark.parametrize(
    "error",
    [
        InputError("the key is refused"),
        OSError(errno.ENOSPC, "No space left on device"),
        PermissionError(errno.EACCES, "Permission denied"),
        raised(InputError("cannot be read"), FileNotFoundError(errno.ENOENT, "no such file")),
        AssertionError("ours"),
    ],
)
def test_permanent_error_is_not_retried(error: Exception) -> None:
    assert not is_transient(error)
    state: State[None] = Failed(data=error)
    assert not RETRIES["retry_condition_fn"](None, None, state)


def test_every_task_is_retried_in_the_same_way() -> None:
    modules = [importlib.import_module(each.name) for each in pkgutil.walk_packages(flows.__path__, "flows.")]
    tasks = {
        each.name: each for module in modules for each in vars(module).values() if isinstance(each, Task)
    }
    assert {"check_stage", "ask-model", "load-warehouse"} <= tasks.keys()
    different = [
        name
        for name, each in tasks.items()
        if (each.retries, each.retry_delay_seconds, each.retry_condition_fn) != tuple(RETRIES.values())
    ]
    assert different == []


def test_time_limit_is_read_from_the_environment_of_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TIME_LIMIT_VARIABLE, raising=False)
    assert read_time_limit() is None
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "1.5")
    assert read_time_limit() == 5400
