"""Which errors are retried, and how long a deployment run may take."""

import errno
import importlib
import pkgutil

import pytest
from prefect import Task
from prefect.client.schemas.objects import State
from prefect.states import Failed
from ruamel.yaml import YAML

import flows
from deploy.owned import SCHEDULED_FLOW, SUBFLOWS
from flows.support.retries import RETRIES, TIME_LIMIT_VARIABLE, is_transient, read_time_limit
from primitives.errors import InputError
from tests.support.command import REPOSITORY


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
    assert {"build_stage", "ask-model", "load-warehouse"} <= tasks.keys()
    different = [
        name
        for name, each in tasks.items()
        if (each.retries, each.retry_delay_seconds, each.retry_condition_fn) != tuple(RETRIES.values())
    ]
    assert different == []


def test_delays_between_retries_increase() -> None:
    delays = RETRIES["retry_delay_seconds"]
    assert len(delays) == RETRIES["retries"]
    assert delays == sorted(set(delays))


def test_time_limit_is_read_from_the_environment_of_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TIME_LIMIT_VARIABLE, raising=False)
    assert read_time_limit() is None
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "1.5")
    assert read_time_limit() == 5400


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "a day"])
def test_time_limit_must_be_a_number_of_hours(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, text)
    with pytest.raises(InputError, match=TIME_LIMIT_VARIABLE):
        read_time_limit()


def test_every_deployment_has_a_time_limit_and_tags() -> None:
    deployments = {
        each["entrypoint"].rpartition(".")[2].replace("_", "-"): each
        for each in YAML(typ="safe").load(REPOSITORY / "prefect.yaml")["deployments"]
    }
    environments = {name: each["work_pool"]["job_variables"]["env"] for name, each in deployments.items()}
    limits = {name: float(each[TIME_LIMIT_VARIABLE]) for name, each in environments.items()}
    assert set(limits) == {SCHEDULED_FLOW, *SUBFLOWS}
    # The next weekly run waits for this one.
    assert max(limits.values()) == limits["regenerate"] < 7 * 24
    # The automations find the runs by the second tag, and need these heartbeats.
    tags = {"pretexeval", "{{ $PRETEXEVAL_TAG }}"}
    assert all(tags <= set(each["tags"]) for each in deployments.values())
    assert {each["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] for each in environments.values()} == {"30"}
    gpu = {name for name, each in deployments.items() if "gpu" in each["tags"]}
    pool = "{{ $PRETEXEVAL_INSTALLATION }}-gpu"
    assert gpu == {name for name, each in deployments.items() if each["work_pool"]["name"] == pool}
