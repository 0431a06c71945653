"""The subcommands that give editions to others and take back what they say: export, import, review."""

import argparse
from pathlib import Path
from typing import get_args

from commands.arguments import (
    Subcommands,
    add_command,
    add_root,
    read_count,
    read_path,
    report_error,
    report_published,
    write_output,
)
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import check_table
from schemas.choices import QuestionSetting, ScoringPolicy

TARGETS = ("inspect", "lm-eval", "batch", "parquet", "every-eval-ever")
EDITION = "the name of the edition, as in the table editions"


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    _add_export(subcommands)
    _add_import(subcommands)
    _add_review(subcommands)


def _add_export(subcommands: Subcommands) -> None:
    summary = "Write an edition for another tool: as a task, as Parquet files, or its results."
    examples = (
        "starter-seed1-1a2b3c4d exported --to inspect",
        "starter-seed1-1a2b3c4d exported --to lm-eval --pairs-per-relation 10",
    )
    parser = add_command(subcommands, "export", export, summary, examples)
    parser.add_argument("edition", help=EDITION)
    parser.add_argument(
        "folder",
        type=read_path,
        help="the folder to write, which does not exist yet",
    )
    parser.add_argument("--to", required=True, choices=TARGETS, help="what reads the folder")
    parser.add_argument(
        "--pairs-per-relation",
        type=int,
        metavar="N",
        help="test N pairs of each relation, as with pairs_per_relation in a model's table (default: all)",
    )
    add_root(parser)


def export(options: argparse.Namespace) -> int:
    """Write the folder, and print its path."""
    from commands.exports.export import export_edition

    export_edition(options.root, options.edition, options.to, options.folder, options.pairs_per_relation)
    write_output(options.folder)
    return 0


def _add_import(subcommands: Subcommands) -> None:
    summary = "Import recorded responses of a model to the questions or samples of an edition, by id."
    edition = "--edition medqa-seed0-1a2b3c4d --model mine"
    examples = [f"answers.parquet {edition}", f"own.jsonl --setting chain_of_thought {edition}"]
    parser = add_command(subcommands, "import-responses", import_answers, summary, examples)
    parser.add_argument(
        "file",
        type=read_path,
        help="a table (docs/models.md) or a log of inspect_ai or lm-eval, or of a batch",
    )
    parser.add_argument("--edition", required=True, help=EDITION)
    parser.add_argument("--model", required=True, help="the name of the model in all results")
    parser.add_argument(
        "--revision",
        help="a name for what answered; files with the same revision belong to one model (default: the "
        "checksum of the file)",
    )
    parser.add_argument(
        "--setting",
        choices=get_args(QuestionSetting),
        help="how questions were asked (default: answer_only); not for samples",
    )
    parser.add_argument(
        "--policy",
        action="append",
        choices=get_args(ScoringPolicy),
        help="how to count a missing answer (repeat for several policies; default: strict)",
    )
    parser.add_argument(
        "--max-error-rate",
        type=float,
        help="the share of missing responses above which the model counts as not evaluated (default: 0.01)",
    )
    parser.add_argument(
        "--pairs-per-relation",
        type=int,
        metavar="N",
        help="the model was asked about N pairs of each relation, as in an export with this option",
    )
    parser.add_argument(
        "--no-publish", action="store_true", help="leave the warehouse and the pages as they are"
    )
    add_root(parser)


def import_answers(options: argparse.Namespace) -> int:
    """Import the file, print what does not fit, publish, and print the paths."""
    from tasks.evaluation.failures import require_evaluated
    from tasks.evaluation.import_run import import_responses
    from tasks.evaluation.recorded_rows import read_recorded_file

    recorded = read_recorded_file(options.file)
    config = _build_config(options, recorded.prompt_style)
    has_questions = recorded.id_column == "question_id"
    if options.setting and not has_questions:
        raise InputError("--setting is only for questions; the file holds responses to samples")
    setting: Setting | None = (options.setting or "answer_only") if has_questions else None
    imported = import_responses(config, recorded, options.edition, options.model, setting)
    write_output(imported.report.render())
    write_output(f"{imported.n_stored:,} rows were new")
    write_output(options.root / imported.evaluation.folder)
    status = 0
    try:
        require_evaluated(imported.evaluation)
    except InputError as error:
        report_error(str(error))
        status = 1
    if not options.no_publish:
        from commands.in_process import run_publish

        left_out = run_publish(config, options.edition)
        status = max(status, report_published(options.root, options.edition, left_out))
    return status


def _build_config(options: argparse.Namespace, prompt_style: str | None) -> Config:
    """Return the configuration that describes the model of the options.

    Args:
        prompt_style: how the model was asked; None: not known.

    Raises:
        InputError: an option is not valid.
    """
    model = {
        "name": options.model,
        "engine": "imported",
        "model": str(options.file),
        "revision": options.revision,
        "pairs_per_relation": options.pairs_per_relation,
        # The first line of a raw completion is its answer, but imported responses may be longer.
        "prompt_style": prompt_style or "chat",
    }
    scoring: dict[str, object] = {"policies": options.policy or ["strict"]}
    if options.max_error_rate is not None:
        scoring["max_error_rate"] = options.max_error_rate
    table = {"models": [model], "scoring": scoring, "storage": {"root": str(options.root)}}
    return check_table(Config, table, Path("the command"), [])


def _add_review(subcommands: Subcommands) -> None:
    summary = "Write and read the sheets on which people grade samples, or judge labels and rewordings."
    exported = "starter-seed1-1a2b3c4d --reviewer ann --reviewer bob --pairs 30"
    judged = "starter-seed1-1a2b3c4d --what negatives --pairs 10"
    imported = "data/reviews/starter-seed1-1a2b3c4d/grades-ann.csv"
    parser = add_command(subcommands, "review", None, summary, [f"export {exported}", f"import {imported}"])
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    summary = "Write a sheet for every reviewer."
    parser = add_command(actions, "export", export_sheets, summary, [exported, judged])
    parser.add_argument("edition", help=EDITION)
    parser.add_argument(
        "--what",
        choices=("grades", "negatives", "positives", "audit", "rewordings"),
        default="grades",
        help="grades: grade samples without knowing their method (default); negatives, positives, audit: "
        "judge the labels of false twins, of facts, or those that are most likely wrong by the answers; "
        "rewordings: judge whether the rewordings that the gate accepted say what their statements say",
    )
    parser.add_argument(
        "--reviewer",
        action="append",
        metavar="NAME",
        help="the name of a reviewer; repeat for several (default: reviewer)",
    )
    parser.add_argument(
        "--pairs",
        type=read_count,
        metavar="N",
        help="pairs to draw for grades (default: 50), or pairs of each relation to judge (default: all)",
    )
    add_root(parser)
    summary = "Check a filled-in sheet, and store and use its verdicts."
    parser = add_command(actions, "import", import_sheet, summary, [imported])
    parser.add_argument("sheet", type=read_path, help="the CSV file, as a spreadsheet saved it")
    add_root(parser)


def export_sheets(options: argparse.Namespace) -> int:
    """Write a sheet for every reviewer, and print the paths."""
    from commands.review import review

    reviewers = options.reviewer or ["reviewer"]
    for path in review.export_sheets(options.root, options.edition, options.what, reviewers, options.pairs):
        write_output(path)
    return 0


def import_sheet(options: argparse.Namespace) -> int:
    """Store the verdicts of a filled-in sheet, and say what they change."""
    from commands.review import review

    path, said = review.import_sheet(options.root, options.sheet)
    for line in (path, *said):
        write_output(line)
    return 0
