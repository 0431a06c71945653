"""The subcommand preview, which shows the texts of a few facts before any model is asked."""

import argparse
from pathlib import Path

from cli.arguments import Subcommands, add_command, add_config, read_count, write_output
from config.file import load_config
from primitives.errors import InputError


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Show the texts and the false twins of a few facts per relation, before any model is asked."
    examples = ["configs/quickstart.toml", "configs/quickstart.toml --pairs 5 --html preview.html"]
    parser = add_command(subcommands, "preview", preview, summary, examples)
    add_config(parser)
    parser.add_argument(
        "--pairs", type=read_count, default=2, metavar="N", help="facts of each relation (default: 2)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write them as a page in place of printing")


def preview(options: argparse.Namespace) -> int:
    """Print the preview, or write it as a page and print the path."""
    from preflight.fact_preview import preview_edition, render_page, render_preview

    if options.html is not None and options.html.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{options.html} does not end in .html: a page replaces an earlier page only")
    config = load_config(options.config)
    edition, previewed = preview_edition(config, options.pairs)
    if options.html is None:
        write_output(render_preview(edition, previewed))
        return 0
    from storage.files import write_bytes

    write_bytes(options.html, render_page(edition, previewed, config.report.title).encode())
    write_output(options.html)
    return 0
