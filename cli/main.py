"""The entry point of `pretexeval`: the parser, the messages for errors, and the exit status."""

import argparse
import atexit
import errno
import os
import sys
from collections.abc import Sequence

from cli import before_run, data, deployment, imports, pipeline, review
from cli.interrupts import STATUS, end_on_signals, is_interrupted, report_interrupt
from cli.subcommands import Command, report_error
from primitives.errors import InputError

STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status.

    0: success; 1: a part failed; 2: bad input; 130: interrupted.
    """
    options = build_parser().parse_args(arguments)
    try:
        return _run_command(options)
    except KeyboardInterrupt:
        report_interrupt()
        return STATUS
    except BaseException:
        # Libraries turn the interrupt into exceptions of their own.
        if not is_interrupted():
            raise
        report_interrupt()
        return STATUS


def _run_command(options: argparse.Namespace) -> int:
    command: Command = options.command
    try:
        return command(options)
    except InputError as error:
        if is_interrupted():
            raise
        report_error(str(error))
        return 2
    except OSError as error:
        if error.errno not in STORAGE_ERRORS:
            raise
        where = f" ({error.filename})" if error.filename else ""
        report_error(f"{error.strerror}{where}; no half-written file was kept: solve this and run again")
        return 1


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command with all subcommands."""
    parser = argparse.ArgumentParser(
        prog="pretexeval",
        description="What does a language model really know about medicine? This command generates test "
        "sets from knowledge bases, evaluates models on them, and stores their accuracy in DuckDB.",
    )
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (pipeline, before_run, deployment, review, imports, data):
        module.add_commands(subcommands)
    return parser


def run() -> None:
    """Run the command as this process's main program and end the process with its exit status."""
    end_on_signals()
    status: list[int] = []
    # The handler that is registered first runs last: after Prefect and its server have ended.
    atexit.register(_leave, status)
    status.append(main())
    sys.exit(status[0])


def _leave(status: list[int]) -> None:
    """End the process without tearing down the interpreter, which takes 3 s once vLLM is imported."""
    if status:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status[0])
