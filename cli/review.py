"""The subcommand review, with the actions export, import, negatives, also-true and drafts."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_config, add_root, read_count, write_output
from config.file import load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Write and read the sheets on which doctors grade samples, or judge false twins."
    exported = "starter-seed1-1a2b3c4d --grader ann --grader bob --pairs 30"
    imported = "data/reviews/starter-seed1-1a2b3c4d/sheet-ann.csv --grader ann"
    examples = [f"export {exported}", f"import {imported}"]
    parser = add_command(subcommands, "review", None, summary, examples)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    summary = "Write a blinded sheet for every grader."
    export = add_command(actions, "export", export_sheets, summary, [exported])
    export.add_argument("edition", help="the name of the edition, as in the table editions")
    export.add_argument("--pairs", type=int, default=50, help="the number of pairs to draw (default: 50)")
    export.add_argument("--seed", type=int, default=0, help="the seed of the draw (default: 0)")
    export.add_argument(
        "--grader", action="append", required=True, help="the name of a grader; repeat for several"
    )
    add_root(export)
    summary = "Check a filled-in sheet and load its grades."
    back = add_command(actions, "import", import_sheet, summary, [imported])
    back.add_argument("sheet", type=Path, help="the CSV file, as a spreadsheet saved it")
    back.add_argument("--grader", required=True, help="the name of the grader")
    add_root(back)
    _add_negatives(actions)
    _add_drafts(actions)


def _add_negatives(actions: Subcommands) -> None:
    config = "configs/quickstart.toml"
    summary = "Write a sheet on which a doctor says whether the false twins of an edition could be true."
    export = add_command(
        actions, "negatives", export_negatives, summary, [f"{config} negatives.csv --pairs 10"]
    )
    add_config(export)
    export.add_argument("file", type=Path, help="the CSV file to write; its instructions lie beside it")
    export.add_argument(
        "--pairs", type=read_count, metavar="N", help="twins of each relation (default: all that are tested)"
    )
    summary = "Write the false twins that a doctor called true as rows that the next edition leaves out."
    example = f"{config} negatives.csv facts/also_true.csv"
    back = add_command(actions, "also-true", import_verdicts, summary, [example])
    add_config(back)
    back.add_argument("sheet", type=Path, help="the filled-in sheet, as a spreadsheet saved it")
    back.add_argument("file", type=Path, help="the CSV file to write, for the folder of the knowledge base")


def _add_drafts(actions: Subcommands) -> None:
    summary = "Write the reviewed prototypes of a draft into its file."
    example = "pool-causes.csv pool.toml --reviewer ann"
    back = add_command(actions, "drafts", import_draft, summary, [example])
    back.add_argument("sheet", type=Path, help="the filled-in sheet of `pretexeval draft`")
    back.add_argument("file", type=Path, help="the TOML file with the draft, which is changed")
    back.add_argument("--reviewer", required=True, help="the name of the person who filled the sheet")


def import_draft(options: argparse.Namespace) -> int:
    """Write the reviewed texts, and print what is left to do; the exit status is 1 if a cell is rejected."""
    from review.draft_import import import_draft

    draft = import_draft(options.sheet, options.file, options.reviewer)
    open_cells = ", ".join(cell.transformation for cell in draft.marked)
    left = f"still a draft, write {open_cells}" if open_cells else f"reviewed by {options.reviewer}"
    write_output(f"{options.file}: [{draft.relation}] is {left}")
    return 1 if draft.marked else 0


def export_negatives(options: argparse.Namespace) -> int:
    """Write the sheet of false twins and its instructions, and print the paths."""
    from review.negatives import export_negatives

    for path in export_negatives(load_config(options.config), options.file, options.pairs):
        write_output(path)
    return 0


def import_verdicts(options: argparse.Namespace) -> int:
    """Write the rows of the twins that could be true, and print how many there are."""
    from review.negatives import import_verdicts

    n_rows, n_judged = import_verdicts(load_config(options.config), options.sheet, options.file)
    written = options.file if n_rows else "nothing written"
    write_output(f"{written}: {n_rows} of {n_judged} judged twins could be true")
    return 0


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
