"""The subcommand deploy."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_config
from config.file import load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add the subcommand of this module."""
    summary = "Register pools, deployments and the schedule with a Prefect server."
    parser = add_command(subcommands, "deploy", deploy, summary)
    add_config(parser, "the TOML file that the schedule runs")
    parser.add_argument("--gpus", type=int, default=1, help="runs that load a model at once (default: 1)")
    parser.add_argument("--pool-type", choices=("process", "docker", "kubernetes"), default="process")
    parser.add_argument(
        "--pools", type=Path, help="what runs in containers get (default: deploy/pools.toml of the project)"
    )


def deploy(options: argparse.Namespace) -> int:
    """Register everything with a Prefect server."""
    from deploy.deployments import POOLS, deploy

    load_config(options.config)
    deploy(options.config, options.gpus, options.pool_type, options.pools or POOLS)
    return 0
