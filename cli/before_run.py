"""The subcommands that check before a run and ask no model: validate, plan, doctor."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_config
from config.file import load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add the subcommands of this module."""
    summary = "Check configuration, knowledge base, prototypes and models; run nothing."
    add_config(add_command(subcommands, "validate", validate, summary))
    summary = "Say what a run would ask and take: prompts, tokens, time, cost."
    add_config(add_command(subcommands, "plan", plan, summary))
    summary = "Say what this machine has, and what will not work."
    parser = add_command(subcommands, "doctor", doctor, summary)
    parser.add_argument("config", type=Path, nargs="?", help="a TOML file; without one: the machine alone")


def validate(options: argparse.Namespace) -> int:
    """Check a configuration and all that it names."""
    from preflight.config_summary import describe_plan

    config = load_config(options.config)
    print(describe_plan(config))
    return 0


def plan(options: argparse.Namespace) -> int:
    """What a run would ask and take."""
    from cli.in_process import open_mirror
    from preflight.run_plan import plan_run
    from preflight.run_plan_text import render_plan

    config = load_config(options.config)
    print(render_plan(plan_run(config, open_mirror(config.storage))))
    return 0


def doctor(options: argparse.Namespace) -> int:
    """What will not work on this machine."""
    from preflight.doctor import examine
    from preflight.findings import has_failing, render_checks

    checks = examine(options.config)
    print(render_checks(checks))
    return 1 if has_failing(checks) else 0
