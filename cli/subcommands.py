"""What the modules of subcommands share: adding a subcommand, its arguments, and messages on stderr."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

Command = Callable[[argparse.Namespace], int]
"""Takes the parsed options and returns the exit status."""


class Subcommands(Protocol):
    """What `ArgumentParser.add_subparsers` returns; its class has no public name."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser:
        """Add a subcommand and return its parser."""


def add_command(
    subcommands: Subcommands, name: str, command: Command | None, summary: str
) -> argparse.ArgumentParser:
    """Add a subcommand and return its parser.

    Args:
        command: the function that runs it; None if the subcommand only has actions of its own.
    """
    parser = subcommands.add_parser(name, help=summary, description=summary)
    if command is not None:
        parser.set_defaults(command=command)
    return parser


def add_config(parser: argparse.ArgumentParser, meaning: str = "a TOML file") -> None:
    """Add the positional argument `config`."""
    parser.add_argument("config", type=Path, help=meaning)


def add_root(parser: argparse.ArgumentParser) -> None:
    """Add the option `--root`."""
    parser.add_argument("--root", type=Path, default=Path("data"), help="the data folder (default: data)")


def report_error(message: str) -> None:
    """Print an error to stderr under the command's name."""
    print(f"pretexeval: {message}", file=sys.stderr)


def report_progress(message: str) -> None:
    """Print a line of progress to stderr at once."""
    print(message, file=sys.stderr, flush=True)
