"""The subcommand compare: two models on the same pairs of an edition."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_root, write_output

MEASURES = ("mastery", "average_accuracy", "joint_accuracy")


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Compare two models on the same pairs of an edition; in CI, fail if the second is worse."
    examples = [
        "reference-small reference-large",
        "old new --edition seed1 --measure average_accuracy --format json",
        "old new --margin 0.02 --fail-on-regression",
    ]
    parser = add_command(subcommands, "compare", compare, summary, examples)
    parser.add_argument("first", metavar="MODEL", help="the model to compare with: its name, or its id")
    parser.add_argument("second", metavar="MODEL", help="the model that may be worse or better")
    parser.add_argument(
        "--edition", help="its id, the start of it, or its label (default: the only one with evaluations)"
    )
    add_root(parser)
    parser.add_argument("--measure", choices=MEASURES, default=MEASURES[0], help=f"(default: {MEASURES[0]})")
    parser.add_argument(
        "--margin",
        type=_read_margin,
        default=0.0,
        metavar="SHARE",
        help="how much lower the second score may be: 0.02 is 2 points (default: 0)",
    )
    parser.add_argument("--method", help="(default: the first that both were asked by)")
    parser.add_argument("--policy", help="(default: the first that both have)")
    parser.add_argument(
        "--allow-other-style",
        action="store_true",
        help="compare although the prompts of one were completions and those of the other chats",
    )
    parser.add_argument(
        "--fail-on-regression",
        action="store_true",
        help="end with status 1 if the 95 %% interval says that the second is worse by more than --margin",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the result to this file, over the one of before"
    )


def _read_margin(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = -1
    if not 0 <= margin < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to below 1 (0.02 is 2 points)")
    return margin


def compare(options: argparse.Namespace) -> int:
    """Print or write the comparison; the exit status is 1 if a regression is a failure and there is one."""
    from report.difference_texts import render_difference, render_difference_json, write_verdict
    from report.model_difference import ComparisonQuestion, compare_models

    found = compare_models(
        options.root,
        ComparisonQuestion(
            options.first,
            options.second,
            edition=options.edition,
            measure=options.measure,
            margin=options.margin,
            method=options.method,
            policy=options.policy,
            allows_other_style=options.allow_other_style,
        ),
    )
    renderers = {"text": render_difference, "json": render_difference_json}
    text = renderers[options.format](found)
    if options.output is None:
        write_output(text)
    else:
        from storage.files import write_bytes

        write_bytes(options.output, f"{text}\n".encode())
        write_output(write_verdict(found))
    return int(options.fail_on_regression and found.is_regression)
