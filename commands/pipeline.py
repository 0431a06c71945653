"""The subcommands that run the pipeline: run, build, evaluate, publish, backfill, withdraw."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from commands.arguments import (
    Subcommands,
    add_command,
    add_config,
    add_root,
    read_path,
    report_error,
    report_left_out,
    report_progress,
    report_published,
    write_output,
)
from commands.selection import add_models, add_selection, select_evaluations, select_models
from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import edition_folder, page_file

if TYPE_CHECKING:
    from commands.in_process import RunResult


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    example = "configs/quickstart.toml"
    examples = [example, f"{example} --model reference-small --limit 5"]
    summary = "Build the edition, evaluate every model and publish, all in this process."
    parser = add_command(subcommands, "run", run, summary, [*examples, f"{example} configs/facets.toml"])
    parser.add_argument(
        "configs",
        metavar="config",
        type=read_path,
        nargs="+",
        help="a TOML file; several are run one after the other, and the page of each is there as soon as it "
        "is done",
    )
    add_selection(parser)
    parser.add_argument(
        "--wide", action="store_true", help="show all columns of the leaderboard, also those that do not fit"
    )
    summary = "Build the edition if it is missing, and evaluate the models."
    parser = add_command(subcommands, "evaluate", evaluate, summary, examples)
    add_config(parser)
    add_selection(parser)
    add_config(add_command(subcommands, "build", build, "Build the edition only.", [example]))
    summary = "Load everything that is complete into the warehouse and write the pages."
    add_config(add_command(subcommands, "publish", publish, summary, [example]))
    _add_changes(subcommands)


def _add_changes(subcommands: Subcommands) -> None:
    """Add the subcommands that change what was published."""
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
    add_models(parser)
    summary = "Withdraw an edition: it stays, with the reason, and its scores leave all tables and pages."
    example = 'starter-2026-W47-1a2b3c4d --reason "the base listed wrong drugs"'
    parser = add_command(subcommands, "withdraw", withdraw, summary, [example])
    parser.add_argument("edition", help="its id, the start of it, or its label")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="what readers of its page are told")
    add_root(parser)


def run(options: argparse.Namespace) -> int:
    """Build the edition, evaluate every model and publish; print the leaderboard and the paths."""
    from commands.in_process import refresh_page, run_all
    from warehouse.query import open_warehouse

    configs = {file: select_evaluations(load_config(file), options) for file in options.configs}
    _require_one_root(configs)
    statuses, complete, waiting = [], list[tuple[Config, str]](), list(configs)
    left_out = None
    for file, config in configs.items():
        waiting.remove(file)
        if len(configs) > 1:
            report_progress(f"\n{file}")
        try:
            result = run_all(config, report_progress)
        except InputError as error:
            if len(configs) == 1:
                raise
            report_error(f"{file}: {error}")
            statuses.append(2)
            continue
        with open_warehouse(config.storage.root):
            statuses.append(_print_results(config, result, is_wide=options.wide))
        left_out = result.left_out
        if left_out is None:
            complete.append((config, result.edition_id))
        if waiting:
            report_progress(f"open {result.page} now; still to run: {', '.join(map(str, waiting))}")
    # The page of an edition links the others, and compares itself with them.
    for config, edition_id in complete[:-1]:
        refresh_page(config, edition_id)
    if complete:
        write_output(f"\nall editions  {complete[0][0].storage.root / page_file()}")
    return max(*statuses, report_left_out(left_out))


def _require_one_root(configs: dict[Path, Config]) -> None:
    """Raise InputError unless all configurations have the same data folder: there is one server for each."""
    roots = {config.storage.root.absolute(): file for file, config in configs.items()}
    if len(roots) > 1:
        (one, first), (other, second), *_ = roots.items()
        raise InputError(
            f"{first} has the [storage] root {one}, and {second} has {other}: run them one after the other"
        )


def _print_results(config: Config, result: "RunResult", *, is_wide: bool) -> int:
    """Print the scores and the paths of a run, and what failed; return the exit status."""
    from report.score_tables import render_scores
    from warehouse.drift import describe_drift, describe_freshness

    root = result.root
    write_output(f"\n{result.edition_id}")
    write_output(render_scores(root, result.edition_id, is_wide=is_wide))
    if freshness := describe_freshness(root, result.edition_id):
        write_output(f"\n{freshness}")
    for line in describe_drift(root, result.edition_id):
        write_output(line)
    write_output(f"\nedition    {result.edition}")
    quoted = shlex.quote(str(root))
    write_output(f'warehouse  {result.warehouse}   (pretexeval sql "from leaderboard" --root {quoted})')
    if len(config.edition.methods) > 1:
        write_output(f"methods    pretexeval sql --papers {result.edition_id} --root {quoted}")
    write_output(f"page       {result.page}")
    _warn_of_wrong_texts(config, result.edition_id)
    return _report_failures(result.failures)


def build(options: argparse.Namespace) -> int:
    """Build the edition and print its folder."""
    from commands.in_process import run_build

    config = load_config(options.config)
    edition_id = run_build(config)
    write_output(config.storage.root / edition_folder(edition_id))
    _warn_of_wrong_texts(config, edition_id)
    return 0


def _warn_of_wrong_texts(config: Config, edition_id: str) -> None:
    from tasks.edition.wrong_texts import warn_of_wrong_texts

    if warning := warn_of_wrong_texts(config.storage.root, edition_id):
        report_progress(warning)


def evaluate(options: argparse.Namespace) -> int:
    """Build the edition and evaluate every model."""
    from commands.in_process import run_build, run_evaluations
    from pretexeval.engines.identity import require_some_usable

    config = select_evaluations(load_config(options.config), options)
    require_some_usable(config.models)
    edition_id = run_build(config)
    return _report_failures(run_evaluations(config, edition_id))


def publish(options: argparse.Namespace) -> int:
    """Publish the configuration's edition, or every complete edition if that one is not complete."""
    from commands.in_process import open_store, run_publish
    from tasks.edition.planning import fetch_edition

    config = load_config(options.config)
    edition = fetch_edition(config, open_store(config.storage))
    edition_id = edition.edition_id if edition.is_complete() else None
    left_out = run_publish(config, edition_id)
    if edition_id is None:
        report_progress(
            f"edition {edition.edition_id} is not complete: the pages of all complete editions were written"
        )
    return report_published(config.storage.root, edition_id, left_out)


def _report_failures(failures: dict[str, str]) -> int:
    for name, reason in failures.items():
        report_error(f"{name}: {reason}")
    return 1 if failures else 0


def backfill(options: argparse.Namespace) -> int:
    """Evaluate the models on the editions of the periods, publish, and say what failed."""
    from commands.in_process import run_backfill

    config = load_config(options.config)
    if options.model is not None:
        config = select_models(config, options.model)
    failures, left_out = run_backfill(config, options.first, options.last, report_progress)
    status = _report_failures(failures)
    return max(status, report_published(config.storage.root, None, left_out))


def withdraw(options: argparse.Namespace) -> int:
    """Write the record, publish without the scores of the edition, and say what is published now."""
    from commands.in_process import run_publish
    from pretexeval.storage.withdrawals import withdraw_edition
    from warehouse.query import open_warehouse
    from warehouse.selection import find_edition

    with open_warehouse(options.root) as connection:
        edition_id = find_edition(connection, options.edition)
    withdraw_edition(options.root, edition_id, options.reason)
    left_out = run_publish(Config.model_validate({"storage": {"root": options.root}}), None)
    report_progress(
        f"{edition_id} is withdrawn: its texts stay, its scores left the warehouse and the pages."
    )
    return report_published(options.root, None, left_out)
