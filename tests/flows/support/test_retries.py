"""Errors of tasks that are retried, where Prefect stores errors and for how long, and limits of time."""

import errno
import importlib
import os
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prefect import Task
from prefect.client.schemas.objects import State
from prefect.states import Failed

import flows
from flows.support.retries import RETRIES, TIME_LIMIT_VARIABLE, is_transient, read_time_limit
from flows.support.stage_task import RESULTS_KEPT_S, remove_old_results
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import TASKS_FOLDER
from tests.support.command import build_environment

FAIL = """
import sys
from pathlib import Path
from commands.in_process import prepare_prefect
prepare_prefect(Path(sys.argv[1]))
from prefect import flow, task
@task
def break_task():
    raise ValueError("broken")
@flow
def break_flow():
    break_task()
break_flow(return_state=True)
"""


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [
        (ConnectionResetError("gone"), True),
        (TimeoutError("the lock of another publisher"), True),
        (OSError(errno.ESTALE, "Stale file handle"), True),
        (raised(InputError("cannot be written"), OSError(errno.EIO, "Input/output error")), True),
        (raised(ValueError("outer"), raised(InputError("inner"), ConnectionRefusedError("nobody"))), True),
        (InputError("the key is refused"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (raised(InputError("cannot be read"), FileNotFoundError(errno.ENOENT, "no such file")), False),
        (AssertionError("ours"), False),
    ],
)
def test_only_transient_errors_are_retried(error: Exception, is_retried: bool) -> None:
    state: State[None] = Failed(data=error)
    assert is_transient(error) == RETRIES["retry_condition_fn"](None, None, state) == is_retried


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


@pytest.mark.long
def test_errors_of_runs_lie_in_the_data_folder(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    home, root = tmp_path / "home", tmp_path / "data"
    own = {"HOME": str(home), "PREFECT_HOME": str(home / ".prefect")}
    command = [sys.executable, "-c", FAIL, str(root)]
    subprocess.run(command, env=build_environment({**prefect_server, **own}), cwd=tmp_path, check=True)
    assert len(list((root / TASKS_FOLDER).iterdir())) == 2
    assert not [path for path in tmp_path.rglob("storage") if path.is_dir()]


def test_old_results_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / TASKS_FOLDER
    remove_old_results(tmp_path)
    folder.mkdir(parents=True)
    for name, age_s in (("old", RESULTS_KEPT_S + 60), ("new", RESULTS_KEPT_S - 60)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age_s,) * 2)
    remove_old_results(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["new"]
