"""Replay the published answers to MultiMedQA: ``python -m benchmarks.replay_multifacet FOLDER``.

FOLDER holds the reference data (multifacet_*). The published items become an edition, the responses of every
model are imported by id, and the views compute the scores: from the predictions of the authors, which must
give their scores exactly, and from the raw responses as this project reads them.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.replay_edition import AUTHORS, ReplayedFile, write_published_edition, write_responses
from benchmarks.replay_readings import EFFECT_COLUMNS, list_effects
from benchmarks.replay_scores import ReplayedScore, list_mastered, list_scores
from benchmarks.replay_ties import TIE_COLUMNS, list_ties
from config.file import Config
from report.console import align
from tasks.evaluation.import_run import import_responses
from tasks.evaluation.recorded_rows import read_recorded_file
from warehouse.publishing import build_warehouse

SCORE_COLUMNS = (
    "setting",
    "model",
    "type",
    "from processed",
    "replayed",
    "published",
    "strict",
    "no answer",
    "ties",
    "expected",
    "sd",
    "difference",
    "within 3 sd",
    "other readings",
    "effect",
)
MASTERED_COLUMNS = ("setting", "model", "negated", "replayed", "published", "same")


@dataclass(frozen=True)
class Replay:
    """The warehouse after all imports, and what was reported about the files."""

    warehouse: Path
    reports: dict[tuple[str, str], str]
    """(setting, model) -> ids that did not fit; without those that fit completely."""


def replay(folder: Path, root: Path, names: tuple[str, ...] = ()) -> Replay:
    """Import the published responses, of all models or of these, and load the warehouse."""
    edition_id = write_published_edition(folder, root)
    reports: dict[tuple[str, str], str] = {}
    files = root / "files"
    files.mkdir()
    for file in write_responses(folder, files):
        if not names or file.model.removesuffix(AUTHORS) in names:
            imported = import_responses(
                configure(file, root), read_recorded_file(file.path), edition_id, file.model, file.setting
            )
            report = imported.report
            if report.unknown or report.repeated or report.contradictory or report.missing:
                reports[file.setting, file.model] = report.render()
    return Replay(build_warehouse(root), reports)


def configure(file: ReplayedFile, root: Path) -> Config:
    """Return the configuration of an imported model."""
    model = {"name": file.model, "engine": "imported", "model": str(file.path), "prompt_style": "chat"}
    return Config.model_validate({"models": [model], "storage": {"root": root}})


def render_score(score: ReplayedScore) -> list[str]:
    """Return the cells of a score."""
    sd = score.own_sd if score.sd_of_fill is None else score.sd_of_fill
    difference = None if score.expected is None else score.published - score.expected
    numbers = (score.from_processed, score.replayed, score.published, score.strict)
    is_within = "-" if score.is_within is None else "yes" if score.is_within else "no"
    return [
        score.setting,
        score.model,
        score.type,
        *(_render(number, 4 if k < 2 else 1 if k == 2 else 2) for k, number in enumerate(numbers)),
        str(score.n_no_answer),
        str(score.n_tied),
        _render(score.expected, 2),
        _render(sd, 2),
        _render(difference, 2),
        is_within,
        str(score.n_other_readings),
        _render(score.effect, 2),
    ]


def _render(number: float | None, n_digits: int) -> str:
    return "-" if number is None else f"{number:.{n_digits}f}"


def render_mastered(
    setting: str, model: str, is_negated: bool, ours: list[int | None], published: list[int | None]
) -> list[str]:
    """Return the cells of the counts of mastered points as facets are added."""
    counts = (" ".join("-" if n is None else str(n) for n in row) for row in (ours, published))
    known = [n for n in published if n is not None]
    is_same = known == ours[: len(known)]
    return [setting, model, "yes" if is_negated else "no", *counts, "yes" if is_same else "no"]


def main() -> None:
    """Print both comparisons, and the ids that did not fit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay_multifacet", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the reference data")
    parser.add_argument("--model", action="append", default=[], help="only this model (repeat for several)")
    options = parser.parse_args()
    folder = options.folder
    with tempfile.TemporaryDirectory(prefix="pretexeval-replay-") as name:
        replayed = replay(folder, Path(name), tuple(options.model))
        with duckdb.connect(str(replayed.warehouse), read_only=True) as connection:
            scores = list(list_scores(connection, folder))
            mastered = list(list_mastered(connection, folder))
    print("Scores in percent, from the predictions of the authors and from the raw responses")
    print(align(SCORE_COLUMNS, [render_score(score) for score in scores]))
    print("\nQuestions without a random draw that are right in one of both readings, by class")
    print(align(EFFECT_COLUMNS, [effect.render() for effect in list_effects(folder, options.model)]))
    print("\nTies in what the authors extracted (MCQ, chain of thought)")
    print(align(TIE_COLUMNS, [ties.render() for ties in list_ties(folder)]))
    print("\nMastered points as facets are added, from the predictions of the authors")
    print(align(MASTERED_COLUMNS, [render_mastered(*row) for row in mastered]))
    for (setting, model), report in replayed.reports.items():
        print(f"\n{setting}, {model}\n{report}")


if __name__ == "__main__":
    main()
