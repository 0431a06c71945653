"""The subcommands before a run: validate, plan and doctor."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from commands.arguments import (
    Subcommands,
    add_command,
    add_config,
    add_format,
    read_count,
    read_path,
    report_error,
    write_json,
    write_output,
)
from commands.selection import add_selection, select_evaluations
from pretexeval.config.file import load_config

if TYPE_CHECKING:
    from commands.preflight.findings import Finding


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    summary = "Check the configuration, the knowledge base, the prototypes and the models; run nothing."
    example = "configs/quickstart.toml"
    examples = [example, f"{example} --format json"]
    parser = add_command(subcommands, "validate", validate, summary, [*examples, f"{example} --texts 5"])
    add_config(parser)
    parser.add_argument(
        "--texts",
        type=read_count,
        metavar="N",
        help="also show the texts of N facts of each relation and of their false twins",
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also hide facts of the base, and count how many false twins are hidden facts, and so true",
    )
    add_format(parser)
    summary = "Estimate what a run would take: prompts, tokens, time and cost."
    limited = f"{example} --model reference-small --limit 5"
    parser = add_command(subcommands, "plan", plan, summary, [*examples, limited])
    add_config(parser)
    add_selection(parser)
    parser.add_argument(
        "--cards",
        type=read_count,
        metavar="N",
        help="show the schedule of a run on a host with so many cards (default: those of this host)",
    )
    add_format(parser)
    summary = "Check this machine and the services that a configuration uses."
    parser = add_command(subcommands, "doctor", doctor, summary, ["", *examples, f"{example} --no-prompt"])
    parser.add_argument(
        "config",
        type=read_path,
        nargs="?",
        help="a TOML file; without it, only this machine and Prefect's server are checked",
    )
    parser.add_argument(
        "--no-prompt",
        action="store_true",
        help="send no prompt; without it, every endpoint is asked one prompt of the edition, as a run would "
        "ask it",
    )
    add_format(parser)


def validate(options: argparse.Namespace) -> int:
    """Print the findings about a configuration; the exit status is 1 if one is failing."""
    from commands.preflight.validate import validate_config

    findings = validate_config(load_config(options.config), options.texts, is_deep=options.deep)
    return _print_findings(findings, options)


def doctor(options: argparse.Namespace) -> int:
    """Print the findings about this machine; the exit status is 1 if one is failing."""
    from commands.preflight.doctor import collect_findings

    return _print_findings(collect_findings(options.config, asks_endpoints=not options.no_prompt), options)


def _print_findings(findings: "list[Finding]", options: argparse.Namespace) -> int:
    from commands.preflight.findings import render_findings

    if options.format == "json":
        write_json([asdict(finding) for finding in findings])
    else:
        write_output(render_findings(findings))
    return 1 if any(finding.state == "failing" for finding in findings) else 0


def plan(options: argparse.Namespace) -> int:
    """Print what a run would ask and take; the exit status is 1 if a model cannot be used."""
    from commands.in_process import open_store
    from commands.preflight.plan import plan_run, render_plan
    from pretexeval.engines.cards import list_cards
    from pretexeval.engines.identity import require_some_usable

    config = select_evaluations(load_config(options.config), options)
    problems = require_some_usable(config.models)
    usable = tuple(model for model in config.models if model.name not in problems)
    config, n_cards = config.model_copy(update={"models": usable}), options.cards or len(list_cards())
    planned = plan_run(config, open_store(config.storage), n_cards)
    if options.format == "json":
        write_json(asdict(planned))
    else:
        write_output(render_plan(planned))
    for problem in problems.values():
        report_error(problem)
    return 1 if problems else 0
