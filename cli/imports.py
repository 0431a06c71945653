"""The subcommand import-responses."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_root, report_error, write_output
from config.file import Config
from config.questions import Setting
from primitives.errors import InputError
from primitives.toml_files import check_table

MEANINGS = {
    "--edition": "the name of the edition, as in the table editions",
    "--model": "the name of the model in all results",
    "--revision": "a name for what answered; files with the same revision belong to one model (default: the "
    "checksum of the file)",
}


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Import recorded responses of a model to the questions or samples of an edition, by id."
    edition = "--edition medqa-seed0-1a2b3c4d --model mine"
    examples = [f"answers.parquet {edition}", f"own.jsonl --setting chain_of_thought {edition}"]
    parser = add_command(subcommands, "import-responses", import_file, summary, examples)
    parser.add_argument("file", type=Path, help="a table (docs/models.md) or a log of inspect_ai or lm-eval")
    for option, meaning in MEANINGS.items():
        parser.add_argument(option, required=option != "--revision", help=meaning)
    parser.add_argument(
        "--setting",
        choices=("answer_only", "chain_of_thought"),
        help="how questions were asked (default: answer_only); not for samples",
    )
    parser.add_argument(
        "--policy",
        action="append",
        choices=("strict", "coin-flip", "excluded"),
        help="how to count a missing answer (repeat for several policies; default: strict)",
    )
    parser.add_argument(
        "--max-error-rate",
        type=float,
        help="the share of missing responses above which the model counts as not evaluated (default: 0.01)",
    )
    pairs = parser.add_mutually_exclusive_group()
    pairs.add_argument(
        "--pairs-per-relation",
        type=int,
        metavar="N",
        help="the model was asked about N pairs of each relation, as in an export with this option",
    )
    pairs.add_argument(
        "--budget",
        type=int,
        metavar="N",
        help="the model was asked within a budget of N prompts, as in an export with it; only for samples",
    )
    parser.add_argument(
        "--no-publish", action="store_true", help="leave the warehouse and the pages as they are"
    )
    add_root(parser)


def import_file(options: argparse.Namespace) -> int:
    """Import the file, print what does not fit, publish, and print the paths."""
    from tasks.evaluation.failures import require_evaluated
    from tasks.evaluation.import_run import import_responses
    from tasks.evaluation.recorded_rows import read_recorded_file

    recorded = read_recorded_file(options.file)
    config = _build_config(options, recorded.prompt_style)
    has_questions = recorded.id_column == "question_id"
    if options.setting and not has_questions:
        raise InputError("--setting is only for questions; the file holds responses to samples")
    if options.budget is not None and has_questions:
        raise InputError("--budget is only for samples; the file holds responses to questions")
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
        from cli.in_process import run_publish

        for path in run_publish(config, options.edition):
            write_output(path)
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
        "budget": options.budget,
        # The first line of a raw completion is its answer, but imported responses may be longer.
        "prompt_style": prompt_style or "chat",
    }
    scoring: dict[str, object] = {"policies": options.policy or ["strict"]}
    if options.max_error_rate is not None:
        scoring["max_error_rate"] = options.max_error_rate
    table = {"models": [model], "scoring": scoring, "storage": {"root": str(options.root)}}
    return check_table(Config, table, Path("the command"), [])
