"""The subcommands that read, remove or convert data: gate, runs, prune, export-disek."""

import argparse
from dataclasses import fields
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_config, add_format, add_root, write_output
from config.file import load_config
from primitives.errors import InputError

IN_CONFIG = Path()
"""Stands for the file that the configuration names."""


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    summary = "Measure the gate on rewordings that were labelled by people."
    judge = "labelled.parquet --judge config.toml"
    examples = ["labelled.parquet", judge, f"{judge} --calibrate", f"{judge} --max-rejected 0.02"]
    gate = add_command(subcommands, "gate", measure, summary, examples)
    gate.add_argument("file", type=Path, help="a Parquet file as docs/gate.md describes it")
    gate.add_argument(
        "--judge", type=Path, metavar="CONFIG", help="measure the judge of this configuration too"
    )
    gate.add_argument(
        "--calibrate",
        type=Path,
        nargs="?",
        const=IN_CONFIG,
        metavar="OUT",
        help="write the judge's calibration to this TOML file (default: calibration in [judge])",
    )
    for name, what in (
        ("rejected", "of the sound rewordings accepted by the rules that the judge may reject"),
        ("lifted", "of the wrong rewordings that the judge may let pass although the rules reject them"),
    ):
        summary = f"share {what} (default: 0.05)"
        gate.add_argument(f"--max-{name}", type=_read_share, default=0.05, metavar="SHARE", help=summary)
    summary = "List the evaluations under a data folder: complete, failed and unfinished ones."
    parser = add_command(subcommands, "runs", runs, summary, ["", "--root results", "--format json"])
    add_root(parser)
    add_format(parser, "table", "csv", "json")
    summary = "Remove the scheduled editions of a configuration that are older than keep_editions allows."
    pruned = add_command(subcommands, "prune", prune, summary, ["config.toml --dry-run", "config.toml"])
    add_config(pruned)
    pruned.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    pruned.add_argument(
        "--with-responses",
        action="store_true",
        help="also remove the stored answers of models that no other edition uses; they cost something, and "
        "are asked again if the edition is built again",
    )
    summary = "Write the DiseK relations of a knowledge base as one table."
    examples = ["configs/quickstart.toml disek.tsv"]
    disek = add_command(subcommands, "export-disek", export_disek, summary, examples)
    add_config(disek)
    disek.add_argument("file", type=Path, help="the file to write: .csv, .tsv, .jsonl or .parquet")


def runs(options: argparse.Namespace) -> int:
    """Print the evaluations under a root, those that failed included."""
    from report.console import render_rows
    from tasks.evaluation.recorded_evaluations import RecordedEvaluation, list_evaluations

    if not options.root.is_dir():
        raise InputError(f"{options.root}: there is no such folder; `pretexeval run CONFIG` creates it")
    found = list_evaluations(options.root)
    names = [field.name for field in fields(RecordedEvaluation)]
    chosen = names[: names.index("n_asked")] if options.format == "table" else names
    rows = [tuple(getattr(each, name) for name in chosen) for each in found]
    if options.format == "table":
        reasons = [f"{each.model} on {each.edition_id}: {each.reason}" for each in found if each.reason]
        write_output("\n".join([render_rows(chosen, rows, "table"), *reasons]))
    else:
        write_output(render_rows(chosen, rows, options.format))
    return 0


def prune(options: argparse.Namespace) -> int:
    """Remove old editions with their predictions, pages and measurements, or list them; print their sizes."""
    from datetime import UTC, datetime

    from cli.in_process import open_mirror
    from flows.support.periods import plan_period
    from flows.support.retention import list_old_answers, list_old_editions, remove_old_editions
    from report.console import align

    config = plan_period(load_config(options.config), datetime.now(UTC))
    if config.storage.keep_editions is None:
        raise InputError(f"{options.config} has no keep_editions in [storage], so every edition is kept")
    is_dry, with_answers = options.dry_run, options.with_responses
    if is_dry:
        found = list_old_editions(config)
        answers = list_old_answers(config, found) if with_answers else []
    else:
        mirror = open_mirror(config.storage)
        found, answers = remove_old_editions(config, mirror, with_answers=with_answers)
    if not found:
        write_output("no scheduled edition of this configuration is older than keep_editions allows")
        return 0
    done = "would be removed" if is_dry else "removed"
    rows = [
        [
            old.edition_id,
            f"{old.n_bytes / 1e6:,.1f} MB",
            f"kept: {old.kept_because}" if old.kept_because else done,
        ]
        for old in found
    ]
    write_output(align(["edition", "frees", ""], rows))
    for each in answers:
        megabytes = f"{each.n_bytes / 1e6:,.1f} MB"
        write_output(f"{each.n_answers:,} stored answers of {each.model_id} ({megabytes}): {done}")
    if with_answers and not answers:
        write_output("every stored answer is used by other editions too, or shares its file with one that is")
    if not is_dry:
        write_output("run `pretexeval publish CONFIG`, so that the warehouse and the list of pages agree")
    return 0


def measure(options: argparse.Namespace) -> int:
    """Print how well the gate agrees with labelled rewordings; with a judge, choose its thresholds."""
    from tasks.judging.measurement import measure_gate, render_measurement

    if options.judge is None:
        if options.calibrate is not None:
            raise InputError("--calibrate needs a judge: give --judge CONFIG")
        write_output(render_measurement(measure_gate(options.file)))
        return 0
    from cli.in_process import open_mirror
    from flows.support.progress import show_progress
    from tasks.judging.calibrated_judge import calibrate_judge, write_calibration
    from tasks.judging.calibration import Limits, render_calibration

    config = load_config(options.judge)
    out: Path | None = config.judge.calibration if options.calibrate == IN_CONFIG else options.calibrate
    if options.calibrate is not None and out is None:
        raise InputError("--calibrate has no file: give one, or calibration in [judge] of the configuration")
    mirror, limits = open_mirror(config.storage), Limits(options.max_rejected, options.max_lifted)
    judge, calibration = calibrate_judge(options.file, config, mirror, limits, show_progress)
    write_output(f"judge {judge.judge_id}\n\n{render_calibration(calibration)}")
    if out is not None:
        write_calibration(out, calibration, judge, options.file)
        write_output(f"written to {out}: name the file in calibration of [judge]")
    return 0


def _read_share(text: str) -> float:
    share = float(text)
    if not 0 <= share < 1:
        raise ValueError("not a share")
    return share


def export_disek(options: argparse.Namespace) -> int:
    """Write the knowledge base as a DiseK table and print its path."""
    from knowledge.disek_writer import write_disek
    from knowledge.reader import read_knowledge_base

    write_output(write_disek(read_knowledge_base(load_config(options.config).knowledge), options.file))
    return 0
