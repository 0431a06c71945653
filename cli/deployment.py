"""The subcommand deploy, which registers everything with a Prefect server."""

import argparse
from pathlib import Path

from cli.prefect_server import require_named_server
from cli.subcommands import Subcommands, add_command, add_config, write_output
from config.file import load_config
from config.installation_names import DEFAULT_POOL, find_installation
from deploy.local.client_settings import load_client_settings


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Register the work pools, the deployments and the schedule with a Prefect server."
    examples = ["configs/medlama.toml --gpus 2", "configs/medlama.toml --pool-type docker --update-pools"]
    parser = add_command(subcommands, "deploy", deploy, summary, examples)
    add_config(parser, "the TOML file of the scheduled runs")
    parser.add_argument(
        "--gpus",
        type=_read_gpus,
        action="append",
        default=[],
        metavar="[POOL=]N",
        help="how many GPUs a pool has: 2 for the pool gpu, or gpu-4x80=8 for another one; may be repeated. "
        "A run counts as many as the largest model of its pool takes (default: one run at a time in a new "
        "pool; a pool that exists keeps its limit without --update-pools)",
    )
    parser.add_argument("--pool-type", choices=("process", "docker", "kubernetes"), default="process")
    parser.add_argument(
        "--pools",
        type=Path,
        help="settings of runs in containers (default: deploy/pools.toml of the project)",
    )
    parser.add_argument(
        "--update-pools", action="store_true", help="apply --gpus and --pools to pools that exist"
    )
    parser.add_argument(
        "--installation",
        metavar="NAME",
        help="the name of this installation on the server (default: that of the variable "
        "PRETEXEVAL_INSTALLATION, or else pretexeval)",
    )


def deploy(options: argparse.Namespace) -> int:
    """Register everything with a Prefect server, and print what was created, changed and left."""
    config = load_config(options.config)
    load_client_settings(config.storage.root)
    require_named_server()
    from deploy.deployments import POOLS, deploy

    changes = deploy(
        options.config,
        dict(options.gpus),
        options.pool_type,
        options.pools or POOLS,
        find_installation(options.installation),
        updates_pools=options.update_pools,
    )
    for change in changes:
        write_output(change.render())
    return 0


def _read_gpus(text: str) -> tuple[str, int]:
    """Return the pool and its number of GPUs."""
    pool, _, number = text.rpartition("=")
    return pool or DEFAULT_POOL, int(number)
