"""The entry point of `pretexeval`: the parser, the messages for errors, and the exit status."""

import argparse
import atexit
import contextlib
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from commands import before_run, pipeline, preparation, results, transfer
from commands.arguments import Command, report_error
from commands.interrupts import STATUS, report_interrupt
from pretexeval.primitives.errors import INTERRUPTED, UNWRITABLE_DISK, InputError
from pretexeval.primitives.http_client import bypass_proxies
from pretexeval.primitives.untrusted_text import escape_logs

STORAGE_ERRORS = (*UNWRITABLE_DISK, errno.EACCES, errno.EPERM, errno.EIO)
PATH_ERRORS = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status.

    0: success; 1: a part failed; 2: bad input; 130: interrupted; 141: nobody reads the output any more.
    """
    try:
        return _run_command(arguments)
    except BaseException as error:
        # Libraries turn the interrupt into exceptions of their own.
        if not isinstance(error, KeyboardInterrupt) and not INTERRUPTED.is_set():
            raise
        report_interrupt()
        return STATUS


def _run_command(arguments: Sequence[str] | None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        command: Command = options.command
        status = command(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except InputError as error:
        if INTERRUPTED.is_set():
            raise
        report_error(str(error))
        return 2
    except BrokenPipeError:
        # The reader of the output has ended, as `head` does. This is no error.
        return 141
    except UnicodeEncodeError as error:
        part = error.object[max(error.start - 40, 0) : error.end + 40]
        report_error(f"a text holds half of a surrogate pair, which no file can store; correct it: …{part}…")
        return 2
    except OSError as error:
        if error.errno in PATH_ERRORS:
            report_error(f"{str(error.filename)[:100]}: {error.strerror}; correct the path or the name")
            return 2
        if error.errno not in STORAGE_ERRORS:
            raise
        where = f" ({error.filename})" if error.filename else ""
        report_error(
            f"{error.strerror}{where}; no half-written file was kept: make room, or make the folder "
            "writable, and run the command again"
        )
        return 1


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command with all subcommands."""
    parser = argparse.ArgumentParser(
        prog="pretexeval",
        description="What does a language model really know about medicine? This command generates test "
        "sets from knowledge bases, evaluates models on them, and stores their accuracy in DuckDB.",
        epilog="`pretexeval COMMAND --help` shows the options of a command and examples.",
    )
    parser.add_argument("--version", action="version", version=f"pretexeval {version('pretexeval')}")
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (preparation, pipeline, before_run, transfer, results):
        module.add_commands(subcommands)
    return parser


def run() -> None:
    """Run the command as this process's main program and end the process with its exit status."""
    _prepare_process()
    status: list[int] = []
    # The handler that is registered first runs last: after Prefect and its server have ended.
    atexit.register(_leave, status)
    status.append(main())
    sys.exit(status[0])


def _prepare_process() -> None:
    """Make streams and logs safe to write to, and let no proxy stand before this machine's servers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The stream is closed. Without this, the next file that is opened would become the stream.
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    escape_logs()
    for warning in bypass_proxies():
        report_error(warning)


def _leave(status: list[int]) -> None:
    """End the process without tearing down the interpreter, which takes 3 s once vLLM is imported."""
    if status:
        for stream in (sys.stdout, sys.stderr):
            # The stream may be closed or full, or nobody may read it any more; `main` has reported that.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status[0])
