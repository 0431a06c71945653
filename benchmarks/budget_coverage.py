"""Measure the intervals of the view weighted_accuracy where a budget asks relations in different shares.

`python -m benchmarks.budget_coverage` prints how often the intervals of the mean over relations, and of the
mean over all pairs, contain the truth, and how many prompts equal numbers of pairs save against equal shares
(docs/budget.md). The answers are simulated, about the real heads and tails of the bundled base
(benchmarks/simulated_answers.py); the estimates and intervals are those of the view itself.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import duckdb
import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from benchmarks.simulated_answers import Array, K
from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from report.console import align
from tasks.drawing.heads import TripletSampling
from tasks.edition.triplets import sample_triplets
from tasks.evaluation.asked_pairs import RelationSize, divide_budget
from warehouse.catalogue import read_sql

N_PAIRS = 210
"""Pairs that are asked; each costs 16 prompts."""
N_EDITIONS = 500
MEANS = (0.65, 0.9)
SPREADS = (0.0, 0.6, 1.0)
HEAD_SHARES = (0.0, 0.25)
TAIL_SHARE, PAIR_SHARE = 0.05, 0.2
MEASURES = ("average_accuracy", "mastery")


@dataclass(frozen=True)
class Case:
    """A simulated model: its accuracy at the middle relation, how far relations lie apart, and heads."""

    mean: float
    spread: float
    head_share: float

    def place_relations(self, n_relations: int) -> Array:
        """Return the mean of the normal variable of each relation, in an order that sizes do not follow."""
        places = np.random.default_rng(n_relations).permutation(n_relations) + 0.5
        return np.asarray(ndtri(self.mean) + self.spread * ndtri(places / n_relations))

    @property
    def scales(self) -> tuple[float, float, float, float]:
        """Return the standard deviations of head, tail, pair and sample."""
        own = 1 - self.head_share - TAIL_SHARE - PAIR_SHARE
        return self.head_share**0.5, TAIL_SHARE**0.5, PAIR_SHARE**0.5, own**0.5

    def expect(self, n_relations: int) -> dict[str, Array]:
        """Return the expected average accuracy and mastery of each relation, by Gauss-Hermite quadrature."""
        places, (head, tail, pair, sample) = self.place_relations(n_relations), self.scales
        x, weights = np.polynomial.hermite_e.hermegauss(60)
        weights = weights / weights.sum()
        common = places[:, None, None] + np.hypot(head, pair) * x[:, None] + tail * x
        all_right = ndtr(common / sample) ** K @ weights
        return {"average_accuracy": ndtr(places), "mastery": all_right**2 @ weights}


def read_pairs() -> pl.DataFrame:
    """Return the test pairs of the bundled base, with numbers of the head and of the two tails."""
    base, sampling = read_knowledge_base(KnowledgeConfig()), TripletSampling(1)
    triplets = pl.concat(
        sample_triplets(relation, base.select_relation(relation), sampling).frame
        for relation in base.relations
    ).filter(split="test")
    numbered = triplets.with_columns(
        pl.col("head", "tail").str.to_lowercase().rank("dense").cast(pl.Int64) - 1
    )
    columns = ["relation", "pair_id", "head", "tail"]
    true, false = (numbered.filter(is_positive=sign).select(columns) for sign in (True, False))
    return true.join(false.select("pair_id", "tail"), on="pair_id", suffix="_other").sort(
        "relation", "pair_id"
    )


def choose_pairs(pairs: pl.DataFrame, counts: Mapping[str, int]) -> pl.DataFrame:
    """Return so many pairs of each relation."""
    return pairs.filter(
        pl.int_range(pl.len()).over("relation")
        < pl.col("relation").replace_strict(counts, return_dtype=pl.Int64)
    )


def divide(pairs: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many pairs of each relation a budget asks, and how many an equal share of the relations."""
    sizes = dict(pairs.group_by("relation").len().iter_rows())
    budget = divide_budget(16 * N_PAIRS, {name: RelationSize(n, 16) for name, n in sizes.items()}, 1)
    return {"budget": budget, "share": {r: max(2, round(N_PAIRS * n / len(pairs))) for r, n in sizes.items()}}


def simulate(case: Case, pairs: pl.DataFrame, n_editions: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return rows as of the table pair_scores: the pairs with simulated answers, once per edition."""
    relations = pairs["relation"].rank("dense").to_numpy() - 1
    mean = case.place_relations(pairs["relation"].n_unique())[relations]
    head, tail, pair, sample = case.scales
    codes = [pairs[name].to_numpy() for name in ("head", "tail", "tail_other")]
    frames = []
    for run in range(n_editions):
        heads, tails = (
            rng.standard_normal(size) for size in (codes[0].max() + 1, max(map(max, codes[1:])) + 1)
        )
        common = mean + head * heads[codes[0]] + pair * rng.standard_normal(len(pairs))
        right = [rng.binomial(K, ndtr((common + tail * tails[own]) / sample)) for own in codes[1:]]
        bits = (1 << right[0]) - 1 | ((1 << right[1]) - 1) << K
        frames.append(pairs.select("relation", "pair_id", run=pl.lit(run), correct_bits=pl.Series(bits)))
    return pl.concat(frames)


def open_view(pairs: pl.DataFrame) -> duckdb.DuckDBPyConnection:
    """Return a database with the view, over the pairs of an edition."""
    connection = duckdb.connect()
    connection.register("drawn", pairs)
    for name in ("intervals.sql", "macros.sql", "estimate_shares.sql"):
        connection.execute(read_sql(name))
    connection.execute(
        "create table triplets as select 'e' as edition_id, relation, pair_id, 'test' as split, "
        "true as is_positive from drawn"
    )
    connection.execute(
        """
        create table pairs as from drawn;
        create table answers (relation varchar, pair_id varchar, run integer, correct_bits integer);
        create view pair_scores as
        select
            run, 'e' as edition_id, run::varchar as model_id, run::varchar as model, 'pretexeval' as method,
            'strict' as scoring_policy, 0 as repeat, relation, pair_id, head as head_cluster,
            tail as positive_tail_cluster, tail_other as negative_tail_cluster, 65535 as asked_bits,
            65535 as graded_bits, correct_bits, 16 as n_asked, 0 as n_errors, 0 as n_no_answer,
            true as is_complete, correct_bits = 65535 as is_mastered
        from answers inner join pairs using (relation, pair_id)
        """
    )
    connection.execute(read_sql("views/weighted_accuracy.sql"))
    return connection


def measure(connection: duckdb.DuckDBPyConnection, answers: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the view for simulated answers."""
    connection.execute("delete from answers")
    connection.register("simulated", answers)
    connection.execute("insert into answers by name from simulated")
    rows = connection.execute("from weighted_accuracy").fetchall()
    return pl.DataFrame(
        rows, [column[0] for column in connection.description], orient="row", infer_schema_length=None
    )


@dataclass(frozen=True)
class Found:
    """What was measured of one measure under one weighting."""

    truth: float
    bias: float
    half_width: float
    covers: float
    saved: float
    """Prompts saved against an equal share of each relation: the variance falls as 1 / prompts."""


def describe(case: Case, pairs: pl.DataFrame, n_editions: int, seed: int) -> dict[tuple[str, str], Found]:
    """Return (measure, weighting) -> what was measured."""
    rng, connection = np.random.default_rng(seed), open_view(pairs)
    rows = {
        name: measure(connection, simulate(case, choose_pairs(pairs, counts), n_editions, rng))
        for name, counts in divide(pairs).items()
    }
    sizes = pairs.group_by("relation").len().sort("relation")["len"].to_numpy()
    truths = case.expect(len(sizes))
    found = {}
    for name, weighting in product(MEASURES, ("relations", "pairs")):
        low, high = (
            ("ci_low", "ci_high") if name == "average_accuracy" else (f"{name}_ci_low", f"{name}_ci_high")
        )
        truth = float(np.average(truths[name], weights=sizes if weighting == "pairs" else None))
        low_of, high_of, score = (
            [rows[way].filter(weighting=weighting)[column].to_numpy() for way in ("budget", "share")]
            for column in (low, high, name)
        )
        widths = [float(np.square(b - a).mean()) for a, b in zip(low_of, high_of, strict=True)]
        found[name, weighting] = Found(
            truth,
            float(score[0].mean()) - truth,
            widths[0] ** 0.5 / 2,
            float(((low_of[0] <= truth) & (truth <= high_of[0])).mean()),
            1 - widths[0] / widths[1],
        )
    return found


def main() -> None:
    """Print a table of all cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget_coverage", description=__doc__)
    parser.add_argument("--editions", type=int, default=N_EDITIONS, help="simulated editions per case")
    options = parser.parse_args()
    pairs, lines = read_pairs(), []
    for seed, case in enumerate(Case(*values) for values in product(MEANS, SPREADS, HEAD_SHARES)):
        for (name, weighting), found in describe(case, pairs, options.editions, seed).items():
            shown = [f"{case.mean:.0%}", f"{case.spread:.1f}", f"{case.head_share:.0%}", name, weighting]
            lines.append([*shown, *(f"{value:.1%}" for value in vars(found).values())])
    header = ["middle", "spread", "heads", "measure", "weighting", "truth", "bias", "±", "covers", "saved"]
    print(align(header, lines))


if __name__ == "__main__":
    main()
