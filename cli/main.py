"""The command `pretexeval`. Each subcommand imports what it needs: `--help` answers at once."""

import argparse
import atexit
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cli import commands
from primitives.errors import InputError

Command = Callable[[argparse.Namespace], int]
STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0, 1 where a part failed, 2 for bad input, 130 if interrupted."""
    options = _build_parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except InputError as error:
        return commands.fail(str(error), 2)
    except OSError as error:
        if error.errno in STORAGE_ERRORS:
            where = f" ({error.filename})" if error.filename else ""
            return commands.fail(
                f"{error.strerror}{where}; nothing half-written was kept: mend it and run again", 1
            )
        raise
    except KeyboardInterrupt:
        return commands.fail("interrupted; run the same command again to go on", 130)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pretexeval",
        description="What does a language model really know about medicine? Test sets from knowledge "
        "bases, models evaluated on them, and their accuracy in DuckDB.",
    )
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        sub = subcommands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(command=command)
        return sub

    for name, command, summary in (
        (
            "run",
            commands.run,
            "Build the edition, evaluate every model, publish: all of it, in this process.",
        ),
        ("build", commands.build, "Build the edition only."),
        (
            "evaluate",
            commands.evaluate,
            "Build the edition where it is not there yet, and evaluate the models.",
        ),
        ("publish", commands.publish, "Load all that is complete into the warehouse and write the pages."),
        (
            "validate",
            commands.validate,
            "Check configuration, knowledge base, prototypes and models; run nothing.",
        ),
        ("plan", commands.plan, "Say what a run would ask and take: prompts, tokens, time, cost."),
    ):
        add(name, command, summary).add_argument("config", type=Path, help="a TOML file")
    doctor = add("doctor", commands.doctor, "Say what this machine has, and what will not work.")
    doctor.add_argument("config", type=Path, nargs="?", help="a TOML file; without one: the machine alone")
    score = add("score", commands.score, "Judge what the models answered under another policy; asks nothing.")
    score.add_argument("config", type=Path, help="a TOML file")
    score.add_argument(
        "--policy",
        action="append",
        choices=("strict", "coin-flip", "excluded"),
        help="what no answer counts for (several: once for each; default: those of the configuration)",
    )
    tables = add(
        "tables", commands.tables, "The papers' tables of an edition: methods, components, transformations."
    )
    tables.add_argument("config", type=Path, help="a TOML file")
    deploy = add(
        "deploy", commands.deploy, "Register pools, deployments and the schedule with a Prefect server."
    )
    deploy.add_argument("config", type=Path, help="the TOML file that the schedule runs")
    deploy.add_argument("--gpus", type=int, default=1, help="runs that load a model at once (default: 1)")
    deploy.add_argument("--pool-type", choices=("process", "docker", "kubernetes"), default="process")
    deploy.add_argument(
        "--pools", type=Path, help="what runs in containers get (default: deploy/pools.toml of the project)"
    )
    _add_review(add("review", commands.export_review, "Sheets for doctors to grade samples on, out and in."))
    gate = add("gate", commands.gate, "Measure the gate on rewordings that were read and labelled.")
    gate.add_argument("file", type=Path, help="Parquet, as docs/gate.md describes it")
    disek = add(
        "export-disek", commands.export_disek, "Write the DiseK relations of a knowledge base as one table."
    )
    disek.add_argument("config", type=Path, help="a TOML file")
    disek.add_argument("file", type=Path, help="to write: .csv, .tsv, .jsonl or .parquet")
    sql = add("sql", commands.query, "Ask the warehouse; without a query: list its views.")
    sql.add_argument("query", nargs="?", help='for example "from leaderboard"')
    sql.add_argument("--root", type=Path, default=Path("data"), help="the data folder (default: data)")
    sql.add_argument("--format", choices=("table", "csv", "json"), default="table")
    return parser


def _add_review(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    export = actions.add_parser("export", help="Write a blinded sheet for every grader.")
    export.add_argument("edition", help="its name, as in the table editions")
    export.add_argument("--pairs", type=int, default=50, help="how many pairs to draw (default: 50)")
    export.add_argument("--seed", type=int, default=0, help="draws the pairs (default: 0)")
    export.add_argument("--grader", action="append", required=True, help="a name; several: once for each")
    export.set_defaults(command=commands.export_review)
    back = actions.add_parser("import", help="Check a filled sheet and load its grades.")
    back.add_argument("sheet", type=Path, help="the CSV file, as a spreadsheet saved it")
    back.add_argument("--grader", required=True, help="whose sheet it is")
    back.set_defaults(command=commands.import_review)
    for action in (export, back):
        action.add_argument("--root", type=Path, default=Path("data"), help="the data folder (default: data)")


def run() -> None:
    """The command as a process of its own, which ends as soon as the command has."""
    status: list[int] = []
    # Registered first, so that it runs last: after Prefect and its server have ended.
    atexit.register(_leave, status)
    status.append(main())
    sys.exit(status[0])


def _leave(status: list[int]) -> None:
    """Leave the interpreter to the system: taking it apart takes 3 s where vLLM is in it."""
    if status:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status[0])
