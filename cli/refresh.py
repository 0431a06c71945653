"""The option `--refresh`: build cheap stages again, and compare them with what is stored."""

import argparse
from collections.abc import Iterator, Sequence

from cli.subcommands import report_error, write_output
from config.file import Config

# Names of stages; importing the stages would slow down every command.
OF_EDITION = ("triplets", "variants", "statements", "attempts", "samples", "questions")
MEASURED = ("diversity", "guesses")
OF_EVALUATION = ("predictions", "question_readings", "question_predictions")
REMEDY = {
    OF_EDITION: "The edition stays as it is. To use what the present code or base gives, build an edition "
    "with another label.",
    MEASURED: "They stay as they are. Delete them and run `pretexeval publish` to use the new ones.",
    OF_EVALUATION: "They stay as they are. Delete `run.json` beside them and run `pretexeval run` to use the "
    "new ones; no model is asked again.",
}


def add_refresh(parser: argparse.ArgumentParser, stages: Sequence[str]) -> None:
    """Add the option `--refresh` for these stages."""
    parser.add_argument(
        "--refresh",
        action="append",
        default=[],
        choices=stages,
        metavar="STAGE",
        help="afterwards, build this stage again without asking a model, and say whether it is as stored; "
        f"what is stored stays (repeat for several; one of {', '.join(stages)})",
    )


def refresh_stages(config: Config, edition_id: str, stages: Sequence[str]) -> int:
    """Build the stages again and print what differs; return the exit status, 1 if a file differs."""
    status = 0
    for stage in stages:
        n_files, different = _refresh(config, edition_id, stage)
        if different:
            remedy = next(text for names, text in REMEDY.items() if stage in names)
            files = "\n  ".join(str(config.storage.root / path) for path in different)
            report_error(
                f"{stage}: {len(different)} of {n_files} files, built again, differ from what is stored:"
                f"\n  {files}\n{remedy}"
            )
            status = 1
        else:
            write_output(f"{stage}: built again, {n_files} files are as stored")
    return status


def _refresh(config: Config, edition_id: str, stage: str) -> tuple[int, list[str]]:
    if stage in OF_EDITION:
        return _refresh_edition(config, stage)
    if stage in MEASURED:
        from tasks.quality.measurements import refresh_measurement

        return refresh_measurement(config.storage.root, edition_id, stage)
    results = list(_refresh_evaluations(config, edition_id, stage))
    return sum(n for n, _ in results), [path for _, paths in results for path in paths]


def _refresh_edition(config: Config, stage: str) -> tuple[int, list[str]]:
    from cli.in_process import open_mirror
    from tasks.edition.planning import fetch_edition
    from tasks.edition.refresh import refresh_stage

    edition = fetch_edition(config, open_mirror(config.storage))
    if stage not in {each.name for each in edition.stages}:
        return 0, []
    return refresh_stage(edition, stage)


def _refresh_evaluations(config: Config, edition_id: str, stage: str) -> Iterator[tuple[int, list[str]]]:
    from tasks.evaluation.evaluation import plan_evaluation
    from tasks.evaluation.refresh import refresh_results

    for name, setting in config.list_evaluations():
        evaluation = plan_evaluation(config, edition_id, name, setting)
        if stage in {each.name for each in evaluation.subject.results}:
            yield refresh_results(evaluation, stage)
