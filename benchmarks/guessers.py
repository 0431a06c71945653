"""Measure what guessers without medical knowledge score on the triplets that a way of drawing gives.

`python -m benchmarks.guessers --base medlama.parquet` prints the figures of docs/statistics.md and
docs/knowledge-bases.md.
"""

import argparse
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import fmean
from typing import get_args

import polars as pl

from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from report.console import align
from tasks.drawing.heads import Policy, TripletSampling, list_uncertain
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import PAIR, RelationFacts, collect_facts
from tasks.edition.triplets import build_triplets, list_missing_heads
from tasks.quality.guessers import guess_truth

COLUMNS = (
    "relation",
    "pairs",
    "overlap %",
    "overlap mastery %",
    "tail only %",
    "tail only, new tails %",
    "related negatives",
    "heads left out",
)


@dataclass(frozen=True)
class Measured:
    """What the guessers score on one relation: shares of the triplets, and of the pairs (mastery)."""

    n_pairs: float
    overlap: float
    overlap_mastery: float
    tail: float
    """Cross-validated by head, as the overlap guesser is."""
    new_tails: float
    """Cross-validated by tail."""
    n_related: float
    """Negatives that generalise or specialise a true tail of their head by their words."""
    n_left_out: float

    def render(self) -> list[str]:
        """Return one cell per figure."""
        shares = (self.overlap, self.overlap_mastery, self.tail, self.new_tails)
        counts = (f"{count:.0f}" for count in (self.n_related, self.n_left_out))
        return [f"{self.n_pairs:.0f}", *(f"{100 * share:.1f}" for share in shares), *counts]


def measure_relation(facts: RelationFacts, sampling: TripletSampling) -> Measured:
    """Draw the triplets of a relation, and return what the guessers score on them.

    A guess is a guess of all eight forms of a triplet, so a pair is mastered if both guesses are right.
    """
    relation, piece = facts.relation, Piece(facts.relation)
    triplets = build_triplets(piece, lambda: facts, sampling)
    tested = triplets.filter(pl.col("split") == "test")
    labels = tested["is_positive"]
    is_right = tested.select(
        "pair_id",
        overlap=guess_truth("overlap", relation, tested) == labels,
        tail=guess_truth("tail", relation, tested) == labels,
        new_tails=guess_truth("tail", relation, tested, fold_by="tail") == labels,
    )
    pairs = is_right.group_by("pair_id").agg(pl.col("overlap").all())
    return Measured(
        n_pairs=len(pairs),
        overlap=fmean(is_right["overlap"]),
        overlap_mastery=fmean(pairs["overlap"]),
        tail=fmean(is_right["tail"]),
        new_tails=fmean(is_right["new_tails"]),
        n_related=_count_related(facts, tested),
        n_left_out=len(list_missing_heads(piece, facts, sampling, triplets)),
    )


def _count_related(facts: RelationFacts, tested: pl.DataFrame) -> int:
    true = facts.list_true(tested.select("head").unique())
    negatives = tested.filter(~pl.col("is_positive"))
    return negatives.join(list_uncertain(true, facts.tails), on=PAIR, how="semi").height


def render_table(measured: dict[str, Measured]) -> str:
    """Return the table, with the mean of the relations in its last line."""
    means = Measured(*(fmean(values) for values in zip(*map(astuple, measured.values()), strict=True)))
    lines = {**measured, "mean of the relations": means}
    return align(COLUMNS, [[name, *figures.render()] for name, figures in lines.items()])


def main() -> None:
    """Draw the triplets of a base, let the guessers guess them, and print one line per relation."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guessers", description=__doc__)
    parser.add_argument("--base", type=Path, help="MedLAMA's file or folder; the starter base if not given")
    parser.add_argument("--negatives", choices=get_args(Policy), default=TripletSampling(1).negatives)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--heads", type=int, default=1000, help="at most so many heads of each relation")
    options = parser.parse_args()
    base = read_knowledge_base(
        KnowledgeConfig(name="medlama", format="medlama", path=options.base)
        if options.base
        else KnowledgeConfig()
    )
    sampling = TripletSampling(options.seed, options.negatives, options.heads)
    measured = {
        relation: measure_relation(collect_facts(base, relation), sampling) for relation in base.relations
    }
    print(render_table(measured))


if __name__ == "__main__":
    main()
