"""The subcommand draft, which drafts the prototypes of a relation from one sentence."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cli.subcommands import Subcommands, add_command, write_output
from config.file import load_config

if TYPE_CHECKING:
    from drafting.cells import Draft
    from drafting.writing import DraftWriter


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Draft the prototypes of a relation from one sentence, and a sheet to review them."
    given = 'causes --from "The agent [X] may cause [Y]."'
    examples = [given, f"{given} --config configs/paper.toml --output pool.toml"]
    parser = add_command(subcommands, "draft", draft, summary, examples)
    parser.add_argument("relation", help="the name of the relation, as in the knowledge base")
    parser.add_argument(
        "--from",
        dest="sentence",
        metavar="SENTENCE",
        required=True,
        help="a sentence that states the relation of [X], the head, and [Y], the tail",
    )
    parser.add_argument(
        "--config",
        type=Path,
        help="a TOML file whose [[writers]] drafts what no rule writes (default: those cells stay empty)",
    )
    parser.add_argument(
        "--writer", metavar="NAME", help="which of the [[writers]] (default: the rephraser's)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the TOML file to write, or to add the relation to (default: RELATION.toml)",
    )


def draft(options: argparse.Namespace) -> int:
    """Write the draft and its sheet, and print them; the exit status is 1 if a cell is marked."""
    from drafting.draft_file import add_draft, require_free
    from drafting.drafts import draft_relation
    from review.draft_sheet import export_draft, require_new

    file: Path = options.output or Path(f"{options.relation}.toml")
    sheet = file.with_name(f"{file.stem}-{options.relation}.csv")
    require_free(file, options.relation)
    require_new(sheet, sheet.with_suffix(".md"))
    drafted = draft_relation(options.relation, options.sentence, _find_drafter(options))
    sheets = export_draft(drafted, sheet)
    add_draft(file, drafted)
    write_output("\n".join([_render(drafted), "", *map(str, (file, *sheets))]))
    return 1 if drafted.marked else 0


def _find_drafter(options: argparse.Namespace) -> "DraftWriter | None":
    """Return the language model of the configuration; null without one."""
    if options.config is None:
        return None
    from cli.in_process import open_mirror
    from drafting.drafts import choose_writer
    from drafting.writing import DraftWriter
    from flows.support.progress import show_progress
    from tasks.asking.writers import identify_writer
    from tasks.judging.calibrated_judge import plan_judge

    config = load_config(options.config)
    writer = identify_writer(choose_writer(config, options.writer))
    mirror = open_mirror(config.storage)
    return DraftWriter(writer, config.rephraser.max_attempts, mirror, show_progress, plan_judge(config))


def _render(drafted: "Draft") -> str:
    lines = []
    for name, cell in drafted.cells.items():
        lines.append(f"{name:<10}  {cell.text or '-'}")
        lines += [f"{'':<10}  ! {mark}" for mark in cell.marks]
    questions = "questions   none drafted: they need texts of their own (docs/multifaceteval.md)"
    return "\n".join([*lines, questions])
