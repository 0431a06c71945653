"""The command: quick answers without slow imports, and errors in what the user gives it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.main import main
from tests.support.command import block_packages, make_rows, run_process_command, write_base, write_config
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

# Importing any of these takes seconds. The errors tested here must come before Prefect starts.
SLOW = ("prefect", "vllm", "openai", "great_expectations", "torch")
ANSWER_S = 3.0
STARTER = {"name": "starter", "format": "starter", "relations": ["may_treat"]}


def test_questions_are_answered_quickly_and_without_slow_imports(tmp_path: Path) -> None:
    blocked = block_packages(tmp_path / "blocked", *SLOW)
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER)
    build_warehouse(tmp_path)
    for arguments, words in (
        (["--help"], "import-responses"),
        (["validate", config], "edition starter-seed1-"),
        (["sql", "select 'a' as letter", "--root", tmp_path], "letter"),
    ):
        outcome = run_process_command(*arguments, folder=tmp_path, blocked=blocked).require()
        assert outcome.cpu_s < ANSWER_S
        assert outcome.err == ""
        assert words in outcome.out


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run a command that must fail; return its message."""
    assert main(list(map(str, arguments))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.removeprefix("building the edition\n").startswith("pretexeval: ")
    return captured.err


def test_validate_describes_a_run_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    base = {"name": "own", "format": "table", "path": str(path)}
    asked = {"settings": ["answer_only"]}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=base, questions=asked)
    assert main(["validate", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("may_treat ") for line in lines)
    # Of the 14 heads, 9 have one tail and 5 have two.
    (line,) = (line for line in lines if "no negated MCQ" in line and "there are 2" in line)
    assert "about 5 heads" in line
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[edition]\nsede = 2", "edition.sede is not a known key (did you mean seed?)"),
        ("[edition]\nseed = -1", "edition.seed = -1: should be greater than or equal to 0"),
        ('[knowledge]\nformat = "table"', "path is needed with format 'table'"),
        ("[edition", "is not valid TOML"),
        (None, "c.toml cannot be read: No such file"),
    ],
)
def test_wrong_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "c.toml").write_text(content)
    assert message in refuse(capsys, "run", tmp_path / "c.toml")


@pytest.mark.parametrize(
    ("command", "table", "message"),
    [
        ("run", {"model": "./nowhere"}, "there is no folder './nowhere'"),
        ("evaluate", {"model": "."}, "holds no config.json"),
        ("validate", {"model": "a.parquet", "engine": "recorded"}, "no file of recorded responses"),
    ],
)
def test_missing_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    table: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_config(
        tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=[{"name": "lost"} | table]
    )
    said = refuse(capsys, command, config)
    assert "model 'lost'" in said
    assert message in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("content", "relations", "message"),
    [
        ("", None, "own.tsv"),
        ("head\trelation\ttail\n", None, "holds no rows"),
        ("head\trelation\nA\tmay_treat\n", None, "has no column tail"),
        ("head\trelation\ttail\nA\tmay_treat\t\n", None, "line 2: the tail is empty"),
        ("head\trelation\ttail\nA\tmay_heal\tB\n", None, "prototypes for relation 'may_heal'"),
        ("head\trelation\ttail\nA\tmay_treat\tB\n", ["may_prevent"], "it has may_treat"),
    ],
)
def test_base_that_cannot_be_used(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str,
    relations: list[str] | None,
    message: str,
) -> None:
    (tmp_path / "own.tsv").write_text(content)
    base: dict[str, Any] = {"name": "own", "format": "table", "path": str(tmp_path / "own.tsv")}
    if relations:
        base["relations"] = relations
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=base)
    assert message in refuse(capsys, "build", config)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", ["run", "publish"])
def test_root_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    root = tmp_path / "a file"
    root.write_text("mine")
    config = write_config(tmp_path / "c.toml", root, knowledge=STARTER)
    assert f"[storage] root {root} cannot be written" in refuse(capsys, command, config)
    assert root.read_text() == "mine"


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


@pytest.mark.slow
def test_the_scaffold_runs_at_once(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    run_process_command("init", folder=tmp_path).require()
    run_process_command("run", "config.toml", folder=tmp_path, environment=prefect_server).require()
    assert run_query(tmp_path / "data", "select relation from accuracy_by_relation")[1] == [("has_antidote",)]
