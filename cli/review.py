"""The subcommand review, with the actions export and import."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_root, write_output


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    parser = add_command(
        subcommands, "review", None, "Write and read the sheets on which doctors grade samples."
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    export = add_command(actions, "export", export_sheets, "Write a blinded sheet for every grader.")
    export.add_argument("edition", help="the name of the edition, as in the table editions")
    export.add_argument("--pairs", type=int, default=50, help="the number of pairs to draw (default: 50)")
    export.add_argument("--seed", type=int, default=0, help="the seed of the draw (default: 0)")
    export.add_argument(
        "--grader", action="append", required=True, help="the name of a grader; repeat for several"
    )
    add_root(export)
    back = add_command(actions, "import", import_sheet, "Check a filled-in sheet and load its grades.")
    back.add_argument("sheet", type=Path, help="the CSV file, as a spreadsheet saved it")
    back.add_argument("--grader", required=True, help="the name of the grader")
    add_root(back)


def export_sheets(options: argparse.Namespace) -> int:
    """Write a sheet for every grader and print the paths."""
    from review.export import export_review

    for path in export_review(options.root, options.edition, options.grader, options.pairs, options.seed):
        write_output(path)
    return 0


def import_sheet(options: argparse.Namespace) -> int:
    """Load the grades of a filled-in sheet and print the path of the stored grades."""
    from review.grade_import import import_review

    write_output(import_review(options.root, options.sheet, options.grader))
    return 0
