"""Measure how often the intervals for new facts contain the true value, over the clusters of real editions.

`python -m benchmarks.clustered_coverage starter` prints a table of docs/statistics.md; `--help` lists the
others. MedLAMA needs PRETEXEVAL_REFERENCE_DATA. The answers are simulated (benchmarks/simulated_answers.py).
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.clustered_intervals import Observed, Structure, estimate_limits
from benchmarks.simulated_answers import (
    Answering,
    Array,
    K,
    PairClusters,
    draw_answers,
    draw_two_models,
    read_clusters,
)
from config.tables import KnowledgeConfig
from report.console import align

MEASURES = ("average", "joint", "mastery")
COMPARED = ("average", "mastery")
ACCURACIES = (0.02, 0.5, 0.7, 0.95)
HEAD_SHARES = (0.0, 0.25, 0.5)
TAIL_SHARES = (0.0, 0.05, 0.2)
N_EDITIONS = 5000
HEADS_PER_RELATION = 1000


@dataclass(frozen=True)
class Cell:
    """What was measured for one way of answering: shares of the simulated editions."""

    answering: Answering
    covers: float
    fixed_base_covers: float
    width: float
    false_alarms: float | None = None
    """How often the interval of the difference of two equally good models does not contain 0."""
    fixed_base_false_alarms: float | None = None

    @property
    def values(self) -> tuple[float | None, ...]:
        """Return what was measured, in the order of the tables."""
        covers = (self.covers, self.fixed_base_covers, self.width)
        return (*covers, self.false_alarms, self.fixed_base_false_alarms)


def measure_cell(
    structure: Structure, clusters: PairClusters, answering: Answering, n_editions: int, seed: int
) -> Cell:
    """Return the coverage of the measure, and for average and mastery the false alarms of its difference."""
    truth = answering.accuracy
    rng = np.random.default_rng(seed)
    limits = [
        estimate_limits(structure, observe(answering.measure, right))
        for right in draw_answers(clusters, answering, n_editions, rng)
    ]
    covers = np.concatenate([(x.low <= truth) & (truth <= x.high) for x in limits])
    fixed = np.concatenate([(x.fixed_low <= truth) & (truth <= x.fixed_high) for x in limits])
    width = np.concatenate([x.high - x.low for x in limits])
    alarms = _count_alarms(structure, clusters, answering, n_editions, rng)
    return Cell(answering, covers.mean(), fixed.mean(), width.mean(), *alarms)


def _count_alarms(
    structure: Structure,
    clusters: PairClusters,
    answering: Answering,
    n_editions: int,
    rng: np.random.Generator,
) -> tuple[float, float] | tuple[()]:
    if answering.measure not in COMPARED:
        return ()
    limits = [
        estimate_limits(structure, observe_difference(answering.measure, *models))
        for models in draw_two_models(clusters, answering, n_editions, rng)
    ]
    alarms = np.concatenate([(x.low > 0) | (x.high < 0) for x in limits])
    fixed = np.concatenate([(x.fixed_low > 0) | (x.fixed_high < 0) for x in limits])
    return float(alarms.mean()), float(fixed.mean())


def observe(measure: str, right: tuple[Array, Array]) -> Observed:
    """Return what the measure observes of the right answers of 8 to the true and to the false triplets."""
    if measure == "average":
        return Observed(right, None, K)
    all_right = [(counts == K).astype(np.float32) for counts in right]
    return (
        Observed(tuple(all_right), None, 1)
        if measure == "joint"
        else Observed((all_right[0] * all_right[1],), None, 1)
    )


def observe_difference(
    measure: str, one: tuple[Array, Array], other: tuple[Array, Array], both: tuple[Array, Array]
) -> Observed:
    """Return what only one of two models has right."""
    if measure == "average":
        gained = tuple(a - c for a, c in zip(one, both, strict=True))
        return Observed(gained, tuple(b - c for b, c in zip(other, both, strict=True)), K)
    (mine,), (theirs,) = (observe(measure, right).gained for right in (one, other))
    return Observed((mine * (1 - theirs),), (theirs * (1 - mine),), 1)


def list_ways(
    measures: tuple[str, ...] = MEASURES, accuracies: tuple[float, ...] = ACCURACIES
) -> list[Answering]:
    """Return one way of answering per measure, accuracy, head share and tail share."""
    return [Answering(*values) for values in product(measures, accuracies, HEAD_SHARES, TAIL_SHARES)]


def read_base(name: str) -> PairClusters:
    """Return the clusters of a base (`starter`, `medlama`) or of one relation (`medlama:may_treat`)."""
    base, _, relation = name.partition(":")
    relations = (relation,) if relation else ()
    if base == "starter":
        return read_clusters(KnowledgeConfig(relations=relations), None)
    path = Path(os.environ["PRETEXEVAL_REFERENCE_DATA"]) / "medlama.parquet"
    knowledge = KnowledgeConfig(name="medlama", format="medlama", path=path, relations=relations)
    return read_clusters(knowledge, HEADS_PER_RELATION)


def render(cells: list[Cell]) -> Iterator[str]:
    """Yield a table with a line per cell, and one with the range over accuracies and head shares."""
    shares = ["covers", "pairs only", "width", "false alarms", "pairs only"]
    lines = [[*_name(cell.answering), *(_format(value) for value in cell.values)] for cell in cells]
    yield align(["measure", "accuracy", "heads", "tails", *shares], lines)
    groups: dict[tuple[str, float], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.answering.measure, cell.answering.tail_share), []).append(cell)
    yield ""
    yield align(
        ["measure", "tails", *shares],
        [
            [
                measure,
                f"{tails:.0%}",
                *_format_ranges(group),
            ]
            for (measure, tails), group in groups.items()
        ],
    )


def _name(way: Answering) -> list[str]:
    return [way.measure, *(f"{share:.0%}" for share in (way.accuracy, way.head_share, way.tail_share))]


def _format_ranges(group: list[Cell]) -> Iterator[str]:
    for values in zip(*(cell.values for cell in group), strict=True):
        yield _format(*values)


def _format(*shares: float | None) -> str:
    known = [share for share in shares if share is not None]
    return " to ".join(f"{share:.1%}" for share in sorted({min(known), max(known)})) if known else ""


def main() -> None:
    """Measure the cells of the bases that are named, and print a table for each base."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clustered_coverage", description=__doc__)
    parser.add_argument("bases", nargs="+", help="starter, medlama, or BASE:RELATION")
    parser.add_argument("--editions", type=int, default=N_EDITIONS, help="simulated editions per cell")
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--accuracies", nargs="+", type=float, default=list(ACCURACIES))
    options = parser.parse_args()
    for name in options.bases:
        clusters = read_base(name)
        structure = Structure(clusters)
        print(f"{name}: {structure.n_pairs} pairs, n_effective {structure.n_effective:.1f}", flush=True)
        ways = list_ways(tuple(options.measures), tuple(options.accuracies))
        cells = [measure_cell(structure, clusters, way, options.editions, k) for k, way in enumerate(ways)]
        print("\n".join(render(cells)), flush=True)


if __name__ == "__main__":
    main()
