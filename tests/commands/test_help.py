"""The help of every subcommand: its examples are command lines that the parser accepts."""

import argparse
import shlex
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from commands.main import build_parser
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


def test_every_subcommand_shows_examples_that_the_parser_accepts() -> None:
    """They fit a terminal, and name configurations that exist."""
    assert len(PARSERS) == 22
    for parser in PARSERS:
        shown = parser.format_help()
        assert max(map(len, shown.splitlines())) <= 110, parser.prog
        text = shown.partition(HEADING)[2].replace("\\\n", " ")
        assert text.startswith(f"  {parser.prog}")
        for line in text.splitlines():
            name, *arguments = shlex.split(line)
            assert name == "pretexeval"
            assert callable(build_parser().parse_args(arguments).command)
            named = [word for word in arguments if word.startswith("configs/")]
            assert [path for path in named if not (REPOSITORY / path).is_file()] == []


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert run_command("--version", folder=tmp_path).require().out == f"pretexeval {version('pretexeval')}\n"
