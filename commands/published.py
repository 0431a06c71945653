"""The subcommands that change what was published: backfill and withdraw."""

import argparse

from commands.arguments import (
    Subcommands,
    add_command,
    add_config,
    add_root,
    report_error,
    report_progress,
    report_published,
    write_output,
)
from commands.selection import select_models
from pretexeval.config.file import Config, load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    summary = (
        "Make or complete the editions of past periods of the schedule, and evaluate the models on them."
    )
    weeks = "configs/quickstart.toml --from 2026-W40 --to 2026-W47"
    examples = [weeks, f"{weeks} --model reference-small"]
    parser = add_command(subcommands, "backfill", backfill, summary, examples)
    add_config(parser)
    for name, which in (("from", "first"), ("to", "last")):
        parser.add_argument(
            f"--{name}",
            required=True,
            dest=which,
            metavar="PERIOD",
            help=f"the {which} period: a week (2026-W47), month (2026-11) or day (2026-11-22), as scheduled",
        )
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="only the model with this name (repeat for several; default: all models)",
    )
    summary = "Withdraw an edition: it stays, with the reason, and its scores leave all tables and pages."
    example = 'starter-2026-W47-1a2b3c4d --reason "the base listed wrong drugs"'
    parser = add_command(subcommands, "withdraw", withdraw, summary, [example])
    parser.add_argument("edition", help="its id, the start of it, or its label")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="what readers of its page are told")
    add_root(parser)


def backfill(options: argparse.Namespace) -> int:
    """Evaluate the models on the editions of the periods, publish, and print the paths."""
    from commands.in_process import run_backfill

    config = load_config(options.config)
    if options.model is not None:
        config = select_models(config, options.model)
    paths, failures = run_backfill(config, options.first, options.last, report_progress)
    for path in paths:
        write_output(path)
    report_published(config.storage.root)
    for what, reason in failures.items():
        report_error(f"{what}: {reason}")
    return 1 if failures else 0


def withdraw(options: argparse.Namespace) -> int:
    """Write the record, publish without the scores of the edition, and say what is published now."""
    from commands.in_process import run_publish
    from pretexeval.storage.withdrawals import withdraw_edition
    from warehouse.query import open_warehouse
    from warehouse.selection import find_edition

    with open_warehouse(options.root) as connection:
        edition_id = find_edition(connection, options.edition)
    withdraw_edition(options.root, edition_id, options.reason)
    for path in run_publish(Config.model_validate({"storage": {"root": options.root}}), None):
        write_output(path)
    report_progress(
        f"{edition_id} is withdrawn: its texts stay, its scores left the warehouse and the pages."
    )
    report_published(options.root)
    return 0
