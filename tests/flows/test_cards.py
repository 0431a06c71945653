"""`pretexeval run` on a host with two cards, which a stand-in for nvidia-smi reports."""

import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import polars as pl
import psutil
import pytest

from tests.support.command import (
    Environment,
    build_command,
    build_environment,
    run_command,
    run_process_command,
    write_config,
)
from tests.support.fault_models import KNOWLEDGE, build_reference_table, list_different_tables, wait_until
from tests.support.simulated_host import A100, list_cards, write_program

pytestmark = pytest.mark.long
MODELS = [build_reference_table("small"), build_reference_table("large", workers=2)]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    folder = tmp_path / "host"
    folder.mkdir()
    write_program(folder / "nvidia-smi", list_cards(A100, A100))
    return {"PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder)}


def test_each_run_of_a_model_takes_a_card_and_the_tables_are_those_of_one_process(
    tmp_path: Path, environment: Environment, prefect_server: dict[str, str]
) -> None:
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=KNOWLEDGE, models=MODELS)
    run_process_command("run", config, folder=tmp_path, environment=environment).require()
    with closing(sqlite3.connect(tmp_path / "data" / "prefect" / "prefect.db")) as history:
        names = [name for (name,) in history.execute("select name from flow_run")]
    for end in ("-shard-1-of-2", "-shard-2-of-2"):
        assert sum(name.startswith("evaluate-large") and name.endswith(end) for name in names) == 1
    assert len(list((tmp_path / "host").glob("pretexeval-cards-*/card-GPU-?"))) == 2
    config = write_config(tmp_path / "d.toml", tmp_path / "alone", knowledge=KNOWLEDGE, models=MODELS)
    run_command("run", config, folder=tmp_path, environment=prefect_server).require()
    assert list_different_tables(tmp_path / "data", tmp_path / "alone") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_command_ends_its_processes_and_keeps_their_answers(
    tmp_path: Path, environment: Environment, prefect_server: dict[str, str], number: int
) -> None:
    environment = {**environment, **prefect_server}
    models = [model for model in MODELS if "workers" in model]
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=KNOWLEDGE, models=models)
    command, variables = build_command("run", config), build_environment(environment)

    def read_answers() -> set[str]:
        files = list(tmp_path.glob("data/responses/*/part-*.parquet"))
        return set(pl.concat(pl.read_parquet(file)["prompt_key"] for file in files)) if files else set()

    with subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE) as process:
        wait_until(read_answers, "first answers")
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
    kept = read_answers()
    wait_until(lambda: not any(map(psutil.Process.is_running, children)), "all processes have ended")
    assert kept
    run_process_command("run", config, folder=tmp_path, environment=environment).require()
    files = list(tmp_path.glob("data/responses/*/part-*.parquet"))
    keys = pl.concat(pl.read_parquet(file)["prompt_key"] for file in files)
    assert keys.is_unique().all()
    assert kept <= set(keys)
