"""What the modules of subcommands share: adding a subcommand, its arguments, and all that they print."""

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from primitives.errors import InputError
from primitives.untrusted_text import escape_controls

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


def write_output(text: object = "") -> None:
    """Print a result to stdout, with control characters escaped.

    Raises:
        InputError: stdout is closed.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed, so the result cannot be printed; redirect it to a file")
    print(escape_controls(str(text)))


def report_error(message: str) -> None:
    """Print an error to stderr under the command's name."""
    report_progress(f"pretexeval: {message}")


def report_progress(message: str) -> None:
    """Print a line to stderr at once. A stderr that is closed or full does not end the command."""
    with contextlib.suppress(OSError):
        print(escape_controls(message), file=sys.stderr, flush=True)
