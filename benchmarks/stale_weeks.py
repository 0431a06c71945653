"""Measure how much of a weekly edition was used in the weeks before.

`python -m benchmarks.stale_weeks` prints the figures of docs/editions.md. No file is written and no model is
asked: the weeks are drawn as a schedule would draw them.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

import polars as pl

from config.file import Config
from flows.support.periods import plan_period
from report.console import align
from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import find_recipe
from tasks.quality.guessers import guess_truth

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
COLUMNS = ("week", "pairs", "texts used before %", "true %", "false %", "facts used before %", "overlap %")


@dataclass(frozen=True)
class Week:
    """What one week tests."""

    texts: dict[bool, set[str]]
    """Truth of the triplet -> the texts about it."""
    facts: set[str]
    overlap: float
    """The accuracy of the guesser that compares the letters of the names; the mean over pieces."""


@dataclass
class Used:
    """What earlier weeks used."""

    texts: set[str] = field(default_factory=set)
    facts: set[str] = field(default_factory=set)

    def add_week(self, week: Week) -> list[str]:
        """Return one row of the table, and add what the week uses."""
        both = week.texts[True] | week.texts[False]
        asked = ((both, self.texts), *((week.texts[truth], self.texts) for truth in (True, False)))
        shares = [len(new & used) / len(new) for new, used in (*asked, (week.facts, self.facts))]
        self.texts |= both
        self.facts |= week.facts
        return [str(len(week.facts)), *(f"{100 * share:.0f}" for share in (*shares, week.overlap))]


def draw_week(config: Config) -> Week:
    """Draw the edition of a week."""
    frames = list(_draw_pieces(config))
    samples = pl.concat(samples for samples, _ in frames)
    texts = {truth: set(samples.filter(is_positive=truth)["text"]) for truth in (True, False)}
    triplets = pl.concat(triplets for _, triplets in frames)
    overlap = fmean(
        fmean(guess_truth("overlap", rows["relation"][0], rows) == rows["is_positive"]) for _, rows in frames
    )
    return Week(texts, set(triplets.filter("is_positive")["triplet_id"]), overlap)


def _draw_pieces(config: Config) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield the test samples of each piece with the truth of their triplets, and the test triplets."""
    edition = plan_edition(config)
    for piece in edition.pieces:
        frames: dict[str, Any] = {}
        for stage in (TRIPLETS, VARIANTS, STATEMENTS, SAMPLES):
            frames[stage.name] = find_recipe(edition, stage.name).build(edition, piece, frames)
        triplets = frames[TRIPLETS.name].filter(split="test")
        truth = triplets.select("triplet_id", "is_positive")
        yield frames[SAMPLES.name].join(truth, on="triplet_id"), triplets


def measure_weeks(config: Config, n_weeks: int, *, is_series: bool = True) -> list[list[str]]:
    """Return one row per week, with the cells of COLUMNS.

    Args:
        is_series: whether the weeks take turns; otherwise each is drawn by itself.
    """
    used, rows = Used(), []
    for week in range(n_weeks):
        planned = plan_period(config, FIRST + timedelta(weeks=week))
        if not is_series:
            table = planned.edition.model_copy(update={"series": None, "number": None})
            planned = planned.model_copy(update={"edition": table})
        rows.append([str(week + 1), *used.add_week(draw_week(planned))])
    return rows


def main() -> None:
    """Draw the weeks by themselves and as a series, and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stale_weeks", description=__doc__)
    parser.add_argument("--weeks", type=int, default=12)
    parser.add_argument("--format", type=int, default=1, choices=(1, 2), help="the format of the editions")
    options = parser.parse_args()
    n_weeks, config = options.weeks, Config.model_validate({"edition": {"format": options.format}})
    for title, is_series in (("each week by itself", False), ("a series of weeks", True)):
        print(f"{title}\n{align(COLUMNS, measure_weeks(config, n_weeks, is_series=is_series))}\n")


if __name__ == "__main__":
    main()
