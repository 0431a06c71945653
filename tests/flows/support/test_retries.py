"""What is tried again, and how long a deployment run may take."""

import errno

import pytest
from prefect.client.schemas.objects import State
from prefect.states import Failed
from ruamel.yaml import YAML

from flows.support.retries import RETRIES, VARIABLE, may_pass, read_time_limit
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
def test_what_passes_by_itself_is_tried_again(error: Exception) -> None:
    assert may_pass(error)
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
def test_what_is_the_same_the_next_time_is_not(error: Exception) -> None:
    assert not may_pass(error)
    state: State[None] = Failed(data=error)
    assert not RETRIES["retry_condition_fn"](None, None, state)


def test_it_backs_off() -> None:
    delays = RETRIES["retry_delay_seconds"]
    assert len(delays) == RETRIES["retries"]
    assert delays == sorted(set(delays))


def test_only_a_deployment_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert read_time_limit() is None
    monkeypatch.setenv(VARIABLE, "1.5")
    assert read_time_limit() == 5400


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "a day"])
def test_a_time_limit_that_is_no_number_of_hours_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=VARIABLE):
        read_time_limit()


def test_every_deployment_has_a_time_limit_and_tags() -> None:
    deployments = YAML(typ="safe").load(REPOSITORY / "prefect.yaml")["deployments"]
    limits = {
        each["name"]: float(each["work_pool"]["job_variables"]["env"][VARIABLE]) for each in deployments
    }
    assert set(limits) == {"regenerate", "build-test-set", "rephrase-samples", "evaluate-model", "publish"}
    # The next one is waiting.
    assert max(limits.values()) == limits["regenerate"] < 7 * 24
    assert all("pretexeval" in each["tags"] for each in deployments)
    gpu = {each["name"] for each in deployments if "gpu" in each["tags"]}
    assert gpu == {each["name"] for each in deployments if each["work_pool"]["name"] == "gpu"}
