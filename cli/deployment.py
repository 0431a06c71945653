"""The subcommand deploy, which registers everything with a Prefect server."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_config
from config.file import load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Register the work pools, the deployments and the schedule with a Prefect server."
    parser = add_command(subcommands, "deploy", deploy, summary)
    add_config(parser, "the TOML file of the scheduled runs")
    parser.add_argument(
        "--gpus", type=int, default=1, help="how many runs may load a model at once (default: 1)"
    )
    parser.add_argument("--pool-type", choices=("process", "docker", "kubernetes"), default="process")
    parser.add_argument(
        "--pools",
        type=Path,
        help="settings of runs in containers (default: deploy/pools.toml of the project)",
    )


def deploy(options: argparse.Namespace) -> int:
    """Register everything with a Prefect server."""
    from deploy.deployments import POOLS, deploy

    load_config(options.config)
    deploy(options.config, options.gpus, options.pool_type, options.pools or POOLS)
    return 0
