"""The help of every subcommand: its examples are command lines that the parser accepts."""

import argparse
import shlex
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from cli.completion import PLACES
from cli.main import build_parser
from tests.support.command import REPOSITORY, block_packages, run_command, run_process_command

HEADING = "examples:\n"


def list_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all subcommands and of their actions."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield each
                yield from list_parsers(each)


PARSERS = list(list_parsers(build_parser()))
EXAMPLES = [
    pytest.param(parser.prog, line.strip(), id=line.strip().removeprefix("pretexeval "))
    for parser in PARSERS
    for line in (parser.epilog or "").partition(HEADING)[2].partition("\n\n")[0].splitlines()
]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.prog)
def test_every_subcommand_shows_examples_that_fit_a_terminal(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    _, _, shown = text.partition(HEADING)
    assert shown.startswith(f"  {parser.prog}")
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize(("prog", "line"), EXAMPLES)
def test_an_example_is_parsed_and_names_configurations_that_exist(prog: str, line: str) -> None:
    command, _, _ = line.partition(" > ")
    name, *arguments = shlex.split(command)
    assert command.startswith(prog)
    assert name == "pretexeval"
    options = build_parser().parse_args(arguments)
    assert callable(options.command)
    named = [word for word in arguments if word.startswith("configs/")]
    assert [path for path in named if not (REPOSITORY / path).is_file()] == []


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert run_command("--version", folder=tmp_path).require().out == f"pretexeval {version('pretexeval')}\n"


def complete(script: str, folder: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of the words."""
    calls = (
        script,
        f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}",
        "_shtab_pretexeval",
        "printf '%s\\n' \"${COMPREPLY[@]}\"",
    )
    done = subprocess.run(
        ["bash", "-c", "\n".join(calls)], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    script = run_command("completion", "bash", folder=tmp_path).require().out
    (tmp_path / "mine.toml").touch()
    (tmp_path / "results").mkdir()
    assert complete(script, tmp_path, "pretexeval", "pub") == ["publish"]
    assert complete(script, tmp_path, "pretexeval", "review", "ex") == ["export"]
    assert complete(script, tmp_path, "pretexeval", "score", "--pol") == ["--policy"]
    assert complete(script, tmp_path, "pretexeval", "run", "mi") == ["mine.toml"]
    assert complete(script, tmp_path, "pretexeval", "sql", "--root", "") == ["results"]


@pytest.mark.parametrize("shell", PLACES)
def test_every_shell_has_a_script(shell: str, tmp_path: Path) -> None:
    script = run_command("completion", shell, folder=tmp_path).require().out
    assert "import-responses" in script
    assert "max-error-rate" in script


def test_only_the_subcommand_imports_the_library(tmp_path: Path) -> None:
    blocked = block_packages(tmp_path / "blocked", "shtab")
    assert "completion" in run_process_command("--help", folder=tmp_path, blocked=blocked).require().out
