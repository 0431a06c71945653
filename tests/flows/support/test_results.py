"""Where Prefect stores the errors of failed runs, and for how long."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.support.stage_task import RESULTS_KEPT_S, remove_old_results
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


@pytest.mark.slow
def test_errors_of_runs_lie_in_the_data_folder(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    home, root = tmp_path / "home", tmp_path / "data"
    own = {"HOME": str(home), "PREFECT_HOME": str(home / ".prefect")}
    command = [sys.executable, "-c", FAIL, str(root)]
    subprocess.run(command, env=build_environment({**prefect_server, **own}), cwd=tmp_path, check=True)
    stored = list((root / TASKS_FOLDER).iterdir())
    assert len(stored) == 2
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
