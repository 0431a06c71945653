"""The command: quick answers without slow imports, errors in what the user gives it, and its JSON."""

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from commands.main import build_parser, main
from tasks.evaluation.schedule import Job, Part
from tests.commands.configurations import FAR, STARTER, write_configuration
from tests.support.command import (
    REPOSITORY,
    block_packages,
    build_environment,
    make_rows,
    run_measured,
    run_process_command,
    write_config,
)
from tests.support.small_disk import mount_disk
from warehouse.publishing import build_warehouse

# Importing any of these takes seconds. The errors tested here must come before Prefect starts.
SLOW = ("prefect", "vllm", "openai", "great_expectations", "torch", "transformers")
# Every answer needs these libraries. Importing them takes 0.6 s of processor time, an answer at most 1.4 s.
LIBRARIES = "import polars, duckdb, pyarrow.parquet, scipy.optimize, scipy.sparse"
MAX_TIMES_LIBRARIES = 4


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
        (["validate", config], "starter-seed1-"),
        (["plan", config], "prompt tokens counted by the model's tokenizer"),
        (["doctor", config], "model near"),
        (["sql", "select 'a' as letter", "--root", tmp_path], "letter"),
    ):
        outcome = run_process_command(*arguments, folder=tmp_path, blocked=blocked).require()
        assert outcome.cpu_s < MAX_TIMES_LIBRARIES * libraries_s
        assert outcome.err == ""
        assert words in outcome.out
    assert not (tmp_path / "data").exists()


def list_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all subcommands and of their actions."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield each
                yield from list_parsers(each)


def test_the_help_of_a_subcommand_has_examples_that_the_parser_accepts() -> None:
    """They fit a terminal, and name configurations that exist."""
    parsers = list(list_parsers(build_parser()))
    assert len(parsers) == 19
    for parser in parsers:
        shown = parser.format_help()
        assert max(map(len, shown.splitlines())) <= 110, parser.prog
        text = shown.partition("examples:\n")[2].replace("\\\n", " ")
        assert text.startswith(f"  {parser.prog}")
        for line in text.splitlines():
            name, *arguments = shlex.split(line)
            assert name == "pretexeval"
            assert callable(build_parser().parse_args(arguments).command)
            named = [word for word in arguments if word.startswith("configs/")]
            assert [path for path in named if not (REPOSITORY / path).is_file()] == []


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run a command that must fail; return its message."""
    assert main(list(map(str, arguments))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.removeprefix("building the edition\n").startswith("pretexeval: ")
    return captured.err


def test_a_disk_without_room_or_read_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mount_disk(tmp_path / "disk", 2**20) as disk:
        config = write_config(tmp_path / "c.toml", disk, knowledge=STARTER)
        assert "the disk is full (1.0 MB free" in refuse(capsys, "build", config)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert "cannot be written (Read-only file system)" in refuse(capsys, "build", config)
        assert list(disk.iterdir()) == []


def test_files_editions_and_models_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lost = [{"name": "lost", "model": "./nowhere"}]
    write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=[FAR])
    write_config(tmp_path / "lost.toml", tmp_path / "lost", knowledge=STARTER, models=lost)
    for line, message in {
        "run lost.toml": "model 'lost'",
        "evaluate lost.toml": "model 'lost'",
        "review export no-such-edition --reviewer ann": "no-such-edition",
        "review import none.csv": "none.csv",
        "sql": "`pretexeval run CONFIG` creates one",
    }.items():
        assert message in refuse(capsys, *line.split()), line
    assert not (tmp_path / "lost").exists()


def test_init_writes_files_that_are_valid_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "new/mine"]) == 0
    said = capsys.readouterr().out
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {f"new/mine/{path}" for path in ("config.toml", "prototypes.toml", "facts/facts.csv")}
    assert all(path in said for path in written)
    monkeypatch.chdir(tmp_path / "new/mine")
    assert main(["validate", "config.toml"]) == 0
    found = capsys.readouterr()
    assert "mine-seed1-" in found.out
    assert "the gate would reject" not in found.out
    Path("config.toml").unlink()
    assert "exists already, and nothing was written" in refuse(capsys, "init")
    assert not Path("config.toml").exists()


PAGE = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
# Keys whose parts are names from the configuration.
NAMED = {"n_samples": "method", "n_questions": "type"}


def read_documented(title: str) -> set[str]:
    """Return the keys that the tables of a section list."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    cells = (line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def list_keys(value: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401
    """Yield the keys of a JSON value as the page writes them."""
    if isinstance(value, list):
        for part in value:
            yield from list_keys(part, f"{place}[]")
    elif isinstance(value, dict) and place != "warnings[]":
        for key, part in value.items():
            name = f"<{NAMED[place]}>" if place in NAMED else key
            yield from list_keys(part, f"{place}.{name}" if place else name)
    else:
        yield place


@pytest.mark.parametrize("command", ["validate", "plan", "doctor"])
def test_the_keys_are_those_of_the_page(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row and a head are left out, the endpoint of a model is down, and another model is missing."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    models = [FAR, {"name": "lost", "model": str(tmp_path / "none")}]
    questions = {"settings": ["answer_only"]}
    rows = [*make_rows("therapeutic_drugs"), ("others", "therapeutic_drugs", "tail")]
    config = write_configuration(tmp_path, [*rows, rows[0]], questions=questions, models=models)
    more = {"validate": ["--deep", "--texts=1"], "plan": ["--cards=2"]}
    options = ["--format", "json", *more.get(command, [])]
    assert main([command, str(config), *options]) == 1
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    if command == "plan":
        keys = read_documented("The plan")
        assert set(list_keys(found)) == {key for key in keys if not key.startswith("parts")}
        job = Job("m", 1, 1.0)
        part = {"parts": [asdict(Part(job, job_number=0, number=1, of=1, begin_s=0.0, end_s=1.0))]}
        assert set(list_keys(part)) == {key for key in keys if key.startswith("parts")}
        assert found["n_cards"] == 2
        assert captured.err.count(str(tmp_path / "none")) == 1
        assert [each["name"] for each in found["estimates"]] == ["far", "far"]
        return
    keys = {f"[].{key}{'[]' * (key == 'rows')}" for each in found for key in each}
    assert keys == read_documented("Checks before a run")
    if command == "validate":
        named = {each["name"] for each in found if each["rows"]}
        assert named == {"relations", "lost heads", "left out", "risks", "questions", "names", "texts"}
        assert [name for name in named if f"`{name}`" not in PAGE] == []
        states = {each["name"]: (each["state"], each["found"]) for each in found}
        assert (states["model far"][0], states["model far"][1][:4]) == ("ok", "far-")
        assert states["model lost"][0] == "failing"
        assert "there is no folder" in states["model lost"][1]
