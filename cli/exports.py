"""The subcommand export."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_root, write_output

TARGETS = ("inspect", "lm-eval", "parquet", "croissant")


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Write an edition for another tool: as a task of inspect_ai or lm-eval, or as Parquet files."
    examples = (
        "starter-seed1-1a2b3c4d --to inspect exported",
        "starter-seed1-1a2b3c4d --to lm-eval exported --pairs-per-relation 10",
    )
    parser = add_command(subcommands, "export", export, summary, examples)
    parser.add_argument("edition", help="the name of the edition, as in the table editions")
    parser.add_argument("folder", type=Path, help="the folder to write, which does not exist yet")
    parser.add_argument("--to", required=True, choices=TARGETS, help="what reads the folder")
    pairs = parser.add_mutually_exclusive_group()
    pairs.add_argument(
        "--pairs-per-relation",
        type=int,
        metavar="N",
        help="test N pairs of each relation, as with pairs_per_relation in a model's table (default: all)",
    )
    pairs.add_argument(
        "--budget",
        type=int,
        metavar="N",
        help="test the pairs that a budget of N prompts in a model's table asks about; only for samples",
    )
    parser.add_argument(
        "--license",
        metavar="TEXT",
        help="the licence of the knowledge base, as a name (CC-BY-4.0) or an address (default: unknown)",
    )
    add_root(parser)


def export(options: argparse.Namespace) -> int:
    """Write the folder and print its path."""
    from exports.export import export_edition

    export_edition(
        options.root,
        options.edition,
        options.to,
        options.folder,
        options.pairs_per_relation,
        options.license,
        options.budget,
    )
    write_output(options.folder)
    return 0
