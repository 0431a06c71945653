"""The command: quick answers without slow imports, and errors in what the user gives it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.main import main
from tests.support.command import (
    REPOSITORY,
    block_packages,
    build_environment,
    run_measured,
    run_process_command,
    write_config,
)
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

# Importing any of these takes seconds. The errors tested here must come before Prefect starts.
SLOW = ("prefect", "vllm", "openai", "great_expectations", "torch", "transformers")
# Every answer needs these libraries. Importing them takes 0.6 s of processor time, an answer at most 1.4 s.
LIBRARIES = "import polars, duckdb, pyarrow.parquet, scipy.optimize, scipy.sparse"
MAX_TIMES_LIBRARIES = 4
STARTER = {"name": "starter", "format": "starter", "relations": ["may_treat"]}


@pytest.mark.long
def test_questions_are_answered_quickly_and_without_slow_imports(tmp_path: Path) -> None:
    blocked = block_packages(tmp_path / "blocked", *SLOW)
    near = {"name": "near", "model": str(REPOSITORY / "models" / "reference-small")}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=[near])
    build_warehouse(tmp_path)
    imported = [sys.executable, "-c", LIBRARIES]
    libraries_s = run_measured(imported, folder=tmp_path, environment=build_environment()).cpu_s
    for arguments, words in (
        (["--help"], "import-responses"),
        (["validate", config], "edition starter-seed1-"),
        (["plan", config], "prompt tokens counted by the model's tokenizer"),
        (["doctor", config], "model near"),
        (["sql", "select 'a' as letter", "--root", tmp_path], "letter"),
    ):
        outcome = run_process_command(*arguments, folder=tmp_path, blocked=blocked).require()
        assert outcome.cpu_s < MAX_TIMES_LIBRARIES * libraries_s
        assert outcome.err == ""
        assert words in outcome.out
    assert not (tmp_path / "data").exists()


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run a command that must fail; return its message."""
    assert main(list(map(str, arguments))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.removeprefix("building the edition\n").startswith("pretexeval: ")
    return captured.err


def test_missing_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lost = [{"name": "lost", "model": "./nowhere"}]
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=lost)
    for command in ("run", "evaluate"):
        assert "model 'lost'" in refuse(capsys, command, config)
    assert not (tmp_path / "data").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; the test is skipped if it cannot be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system, and not in every container")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_without_room_or_read_only(
    tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "c.toml", small_disk, knowledge=STARTER)
    said = refuse(capsys, "build", config)
    assert "the disk is full (1.0 MB free" in said
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "cannot be written (Read-only file system)" in refuse(capsys, "build", config)
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["review", "export", "no-such-edition", "--grader", "ann"], "no-such-edition"),
        (["review", "import", "none.csv", "--grader", "ann"], "none.csv"),
        (["gate", "labelled.parquet"], "labelled.parquet"),
        (["gate", "labelled.parquet", "--calibrate"], "--calibrate needs a judge"),
        (["sql"], "`pretexeval run CONFIG` creates one"),
        (["publish", "c.toml", "--score", "coin-flip"], "model 'm' has not been evaluated"),
        (["publish", "c.toml", "--prune", "list"], "there is no keep_editions"),
    ],
)
def test_files_and_editions_that_are_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labelled.parquet").write_text("no Parquet")
    far = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=[far])
    assert message in refuse(capsys, *arguments)


@pytest.mark.parametrize("folder", [".", "new/mine"])
def test_init_writes_files_that_are_valid_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", *([] if folder == "." else [folder])]) == 0
    said = capsys.readouterr().out
    monkeypatch.chdir(tmp_path / folder)
    written = {path.relative_to(Path.cwd()).as_posix() for path in Path.cwd().rglob("*") if path.is_file()}
    assert written == {"config.toml", "prototypes.toml", "facts/facts.csv"}
    assert all((path if folder == "." else f"{folder}/{path}") in said for path in written)
    assert main(["validate", "config.toml"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("edition mine-seed1-")
    assert "the gate would reject" not in found.out
    Path("config.toml").unlink()
    assert "exists already, and nothing was written" in refuse(capsys, "init")
    assert not Path("config.toml").exists()


@pytest.mark.long
def test_the_scaffold_runs_at_once(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    run_process_command("init", folder=tmp_path).require()
    run_process_command("run", "config.toml", folder=tmp_path, environment=prefect_server).require()
    assert run_query(tmp_path / "data", "select relation from accuracy_by_relation")[1] == [("has_antidote",)]
