"""The help of every subcommand: its examples are command lines that the parser accepts."""

import argparse
import shlex
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from cli.main import build_parser
from tests.support.command import REPOSITORY, run_command

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
    name, *arguments = shlex.split(line)
    assert line.startswith(prog)
    assert name == "pretexeval"
    options = build_parser().parse_args(arguments)
    assert callable(options.command)
    named = [word for word in arguments if word.startswith("configs/")]
    assert [path for path in named if not (REPOSITORY / path).is_file()] == []


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert run_command("--version", folder=tmp_path).require().out == f"pretexeval {version('pretexeval')}\n"
