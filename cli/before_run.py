"""The subcommands for checks before a run: validate, plan, doctor."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from cli.arguments import (
    Subcommands,
    add_command,
    add_config,
    add_format,
    report_error,
    write_json,
    write_output,
)
from cli.selection import add_selection, select_evaluations
from config.file import load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    summary = "Check the configuration, the knowledge base, the prototypes and the models; run nothing."
    example = "configs/quickstart.toml"
    examples = [example, f"{example} --format json"]
    parser = add_command(subcommands, "validate", validate, summary, examples)
    add_config(parser)
    add_format(parser, "text", "json")
    summary = "Estimate what a run would take: prompts, tokens, time and cost."
    limited = f"{example} --model reference-small --limit 5"
    parser = add_command(subcommands, "plan", plan, summary, [*examples, limited])
    add_config(parser)
    add_selection(parser)
    add_format(parser, "text", "json")
    summary = "Check this machine and the services that a configuration uses."
    parser = add_command(subcommands, "doctor", doctor, summary, ["", *examples, f"{example} --no-prompt"])
    parser.add_argument(
        "config",
        type=Path,
        nargs="?",
        help="a TOML file; without it, only this machine and Prefect's server are checked",
    )
    parser.add_argument(
        "--no-prompt",
        action="store_true",
        help="send no prompt; without it, every endpoint is asked one prompt of the edition, as a run would "
        "ask it, unless its answer is stored",
    )
    add_format(parser, "text", "json")


def validate(options: argparse.Namespace) -> int:
    """Check a configuration and everything that it names; the exit status is 1 if a model cannot be used."""
    from engines.model_files import require_some_usable
    from preflight.config_summary import render_summary, summarize_config

    config = load_config(options.config)
    problems = require_some_usable(config.models)
    edition, summary = summarize_config(config, problems)
    if options.format == "json":
        write_json(asdict(summary))
    else:
        write_output(render_summary(edition, summary))
    return _report_unusable(problems)


def plan(options: argparse.Namespace) -> int:
    """Print what a run would ask and take; the exit status is 1 if a model cannot be used."""
    from cli.in_process import open_mirror
    from engines.model_files import require_some_usable
    from preflight.run_plan import plan_run
    from preflight.run_plan_text import render_plan

    config = select_evaluations(load_config(options.config), options)
    problems = require_some_usable(config.models)
    usable = tuple(model for model in config.models if model.name not in problems)
    planned = plan_run(config.model_copy(update={"models": usable}), open_mirror(config.storage))
    if options.format == "json":
        write_json(asdict(planned))
    else:
        write_output(render_plan(planned))
    return _report_unusable(problems)


def _report_unusable(problems: Mapping[str, str]) -> int:
    """Report why each of these models cannot be used, and return the exit status."""
    for problem in problems.values():
        report_error(problem)
    return 1 if problems else 0


def doctor(options: argparse.Namespace) -> int:
    """Print the findings of the doctor; the exit status is 1 if one is failing."""
    from preflight.doctor import collect_findings
    from preflight.findings import has_failures, render_findings

    findings = collect_findings(options.config, asks_endpoints=not options.no_prompt)
    if options.format == "json":
        write_json([asdict(finding) for finding in findings])
    else:
        write_output(render_findings(findings))
    return 1 if has_failures(findings) else 0
