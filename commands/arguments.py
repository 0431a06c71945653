"""Functions that the modules of subcommands share: to add a subcommand and its arguments, and to print."""

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.untrusted_text import escape_controls

Command = Callable[[argparse.Namespace], int]
"""Takes the parsed options and returns the exit status."""
Subcommands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The type of the result of `ArgumentParser.add_subparsers`."""


def add_command(
    subcommands: Subcommands, name: str, command: Command | None, summary: str, examples: Sequence[str]
) -> argparse.ArgumentParser:
    """Add a subcommand and return its parser.

    Args:
        command: the function that runs it; None if the subcommand only has actions of its own.
        examples: command lines that its help shows, without the name of the command and the subcommand.
    """
    parser = subcommands.add_parser(
        name,
        help=summary,
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.epilog = "\n  ".join(["examples:", *(f"{parser.prog} {each}".rstrip() for each in examples)])
    if command is not None:
        parser.set_defaults(command=command)
    return parser


def add_config(parser: argparse.ArgumentParser, meaning: str = "a TOML file") -> None:
    """Add the positional argument `config`."""
    parser.add_argument("config", type=read_path, help=meaning)


def add_root(parser: argparse.ArgumentParser) -> None:
    """Add the option `--root`."""
    parser.add_argument(
        "--root", type=read_path, default=Path("data"), help="the data folder (default: data)"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option `--format`."""
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="docs/commands.md explains it (default: text)",
    )


def read_path(text: str) -> Path:
    """Return a path that an option gives. A shell does not replace `~` in `--root=~/data`."""
    from pretexeval.primitives.toml_files import expand_home

    try:
        return Path(expand_home(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_count(text: str) -> int:
    """Return a number that an option counts; raise ValueError unless it is a whole number above 0."""
    count = int(text)
    if count < 1:
        raise ValueError("not a count")
    return count


def read_share(text: str) -> float:
    """Return a share that an option gives, such as 0.02 for 2 points; it is at least 0 and below 1."""
    with contextlib.suppress(ValueError):
        if 0 <= (share := float(text)) < 1:
            return share
    raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to below 1 (0.02 is 2 points)")


def write_json(value: object) -> None:
    """Print a value as JSON, with control characters escaped."""
    write_output(json.dumps(value, indent=2, ensure_ascii=False))


def write_output(text: object = "") -> None:
    """Print a result to stdout, with control characters escaped.

    Raises:
        InputError: stdout is closed.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed, so the result cannot be printed; redirect it to a file")
    # In a pipe or a file, results would otherwise follow the progress of what is printed later.
    print(escape_controls(str(text)), flush=True)


def report_published(root: Path, edition_id: str | None, left_out: str | None) -> int:
    """Print the paths of the warehouse and of the edition's page, or of the index of all pages.

    Then say on stderr what the warehouse holds and what was left out of it; return the exit status.
    """
    from pretexeval.storage.layout import WAREHOUSE, page_file
    from warehouse.query import run_query

    for path in (root / WAREHOUSE, root / page_file(edition_id)):
        if path.is_file():
            write_output(path)
    _, [(n_editions, n_withdrawn, n_runs, n_models)] = run_query(
        root,
        "select count(*), count(withdrawn_at), (select count(*) from runs), "
        "(select count(distinct model_id) from runs) from editions",
    )
    editions = count_noun(n_editions, "edition") + (f" ({n_withdrawn:,} withdrawn)" if n_withdrawn else "")
    runs = f"{count_noun(n_runs, 'evaluation')} of {count_noun(n_models, 'model')}"
    report_progress(f"The warehouse holds {editions} and {runs}; its pages begin at {root / page_file()}.")
    return report_left_out(left_out)


def report_left_out(left_out: str | None) -> int:
    """Say what a publication left out, as the last message of a command; return its exit status."""
    if left_out is not None:
        report_error(left_out)
    return 0 if left_out is None else 1


def report_error(message: str) -> None:
    """Print an error to stderr under the command's name."""
    report_progress(f"pretexeval: {message}")


def report_progress(message: str) -> None:
    """Print a line to stderr at once. A stderr that is closed or full does not end the command."""
    with contextlib.suppress(OSError):
        print(escape_controls(message), file=sys.stderr, flush=True)
