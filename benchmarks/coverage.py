"""Coverage of the 95 % intervals on simulated editions: ``python -m benchmarks --only coverage``.

The pairs, heads and tails are those of a real edition, by default of the bundled base. The intervals
are those for new facts (pretexeval/statistics), and those of weighted means (warehouse/means.py) where
`pairs_per_relation` asks the same number of pairs of each relation.

A sample is answered right if a normal variable of variance 1 is above a threshold. The variable is the
sum of parts of the head, of the tail, of the pair and of the sample (a probit model with random
effects), so that answers are correlated within heads, tails and pairs, and the true score is known
exactly.

Differences are simulated in two ways: two such models that are equally good, and models of which one gains or
loses a few samples of a few triplets. The second table compares the interval with D ± t · se of Student's
distribution with m − 1 degrees of freedom, whose se allows for shared heads and tails alike.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri, stdtrit

from benchmarks.measuring import add_config, build_edition, build_parser
from pretexeval.statistics.clusters import Observations, measure_spread
from pretexeval.statistics.intervals import Estimates, Limits
from report.console import align
from schemas.transformations import TRANSFORMATIONS
from warehouse.evaluations import Pairs
from warehouse.means import weigh_relations

K = len(TRANSFORMATIONS)
MODEL_CORRELATION = 0.5
"""Correlation of what two models know about a head, a tail or a pair."""
MEASURES = ("average", "joint", "mastery")
N_ASKED_PAIRS = 210
N_FEW = 5
"""Pairs of each relation in the smaller table of differences."""

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True)
class Answering:
    """The average accuracy of a simulated model, and the parts of the variance of heads, tails and pairs."""

    accuracy: float
    head_share: float
    tail_share: float
    pair_share: float = 0.2
    spread: float = 0.0
    """Standard deviation of the means of the relations; `accuracy` is that of the middle relation."""

    def place(self, n_relations: int) -> Array:
        """Return the mean of the normal variable of each relation, in an order that sizes do not follow."""
        places = np.random.default_rng(n_relations).permutation(n_relations) + 0.5
        return np.asarray(ndtri(self.accuracy) + self.spread * ndtri(places / n_relations))

    @property
    def scales(self) -> tuple[float, float, float, float]:
        """Return the standard deviations of head, tail, pair and sample."""
        own = 1 - self.head_share - self.tail_share - self.pair_share
        return self.head_share**0.5, self.tail_share**0.5, self.pair_share**0.5, own**0.5

    def expect(self, n_relations: int) -> dict[str, Array]:
        """Return measure -> its expected value in each relation, by Gauss-Hermite quadrature."""
        places, (head, tail, pair, sample) = self.place(n_relations), self.scales
        x, weights = np.polynomial.hermite_e.hermegauss(60)
        weights = weights / weights.sum()
        common = places[:, None, None] + np.hypot(head, pair) * x[:, None] + tail * x
        all_right = ndtr(common / sample) ** K @ weights
        return {"average": ndtr(places), "joint": all_right @ weights, "mastery": all_right**2 @ weights}


def read_pairs(edition: Path) -> pl.DataFrame:
    """Return the test pairs of an edition, with numbers of the head and of both tails.

    A name is one cluster in all relations, as in the views.
    """
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet").filter(split="test")
    code = pl.col("head", "tail").str.to_lowercase().rank("dense").cast(pl.Int64) - 1
    numbered = triplets.with_columns(code).select("relation", "pair_id", "head", "tail", "is_positive")
    true, false = (numbered.filter(is_positive=sign).drop("is_positive") for sign in (True, False))
    paired = true.join(false.select("pair_id", "tail"), on="pair_id", suffix="_other")
    return paired.sort("relation", "pair_id")


def simulate(
    pairs: pl.DataFrame,
    answering: Answering,
    n_editions: int,
    rng: np.random.Generator,
    n_models: int = 1,
    forms: Array | float = 0.0,
) -> list[Array]:
    """Return for each model which samples are right, by edition, pair, triplet (true, false) and sample.

    Args:
        forms: what is added to the normal variable of each form, of the true and of the false triplet. Shape
            (2, K).
    """
    relations = pairs["relation"].rank("dense").to_numpy() - 1
    head, tail, pair, sample = answering.scales
    heads, tails = pairs["head"].to_numpy(), pairs.select("tail", "tail_other").to_numpy()
    mean = answering.place(pairs["relation"].n_unique())[relations]
    sizes = (heads.max() + 1, tails.max() + 1, len(pairs))
    known = [rng.standard_normal((n_editions, size), dtype=np.float32) for size in sizes]
    models = []
    for number in range(n_models):
        if number:
            fresh = [rng.standard_normal(each.shape, dtype=np.float32) for each in known]
            mix = MODEL_CORRELATION, (1 - MODEL_CORRELATION**2) ** 0.5
            known = [mix[0] * one + mix[1] * other for one, other in zip(known, fresh, strict=True)]
        common = mean + head * known[0][:, heads] + pair * known[2]
        of_triplets = common[..., None] + tail * known[1][:, tails]
        chances = ndtr((of_triplets[..., None] + forms) / sample)
        models.append(rng.random((*of_triplets.shape, K), dtype=np.float32) < chances)
    return models


def combine_samples(measure: str, right: Array) -> Array:
    """Return what the measure counts: samples, triplets that are all right, or pairs that are all right."""
    axes = {"average": (), "joint": (-1,), "mastery": (-2, -1)}[measure]
    return np.asarray(right.all(axes, keepdims=True) if axes else right)


def observe(
    pairs: pl.DataFrame, measure: str, right: Array, other: Array | None = None
) -> list[Observations]:
    """Return the observations of each edition: of a score, or of the difference of two models."""
    mine = combine_samples(measure, right)
    theirs = np.zeros_like(mine) if other is None else combine_samples(measure, other)
    heads, tails = pairs["head"].to_numpy(), pairs.select("tail", "tail_other").to_numpy()
    gained, lost = ((one & ~two).sum(-1).astype(float) for one, two in ((mine, theirs), (theirs, mine)))
    n = np.full(gained.shape[1:], float(mine.shape[-1]))
    return [
        Observations(gained[k], n, heads, tails, None if other is None else lost[k]) for k in range(len(mine))
    ]


@dataclass(frozen=True)
class Covered:
    """Shares of simulated editions: by the interval for new facts, and by that of a base held fixed."""

    covers: float
    fixed_base_covers: float
    n_effective: float


def count_covered(observations: Sequence[Observations], truth: float) -> Covered:
    """Return how often the intervals contain the truth."""
    estimates = estimate(observations)
    free, fixed = estimates.limit(), estimates.limit(is_base_fixed=True)
    covers, fixed_covers = (np.mean((each.low <= truth) & (truth <= each.high)) for each in (free, fixed))
    return Covered(float(covers), float(fixed_covers), float(estimates["n_effective"][0]))


def estimate(observations: Sequence[Observations]) -> Estimates:
    """Return the estimates of the editions."""
    return Estimates([spread for each in observations if (spread := measure_spread(each))])


def measure_coverage(
    pairs: pl.DataFrame, way: Answering, n_editions: int, seed: int
) -> dict[str, tuple[Covered, Covered]]:
    """Return measure -> coverage of the score, and of the difference of two equally good models (0)."""
    one, other = simulate(pairs, way, n_editions, np.random.default_rng(seed), 2)
    truths = way.expect(1)
    return {
        measure: (
            count_covered(observe(pairs, measure, one), float(truths[measure][0])),
            count_covered(observe(pairs, measure, one, other), 0),
        )
        for measure in MEASURES
    }


@dataclass(frozen=True)
class Change:
    """The share of the triplets of which one model gains so many of 8 samples, and of which it loses some."""

    gaining: float
    n_gained: int
    losing: float = 0.0
    n_lost: int = 0

    @property
    def difference(self) -> float:
        """Return the expected difference of average accuracy; a triplet that does both is rare."""
        return (self.gaining * self.n_gained - self.losing * self.n_lost) / K

    def simulate(self, pairs: pl.DataFrame, way: Answering, n_editions: int, seed: int) -> list[Observations]:
        """Return the differences in simulated editions; heads and tails share what changes, as in `way`."""
        rng = np.random.default_rng(seed)
        heads, tails = pairs["head"].to_numpy(), pairs.select("tail", "tail_other").to_numpy()
        head, tail, pair, sample = way.scales
        n = np.full(tails.shape, float(K))

        def draw(share: float, count: int) -> Array:
            of_pairs = head * rng.standard_normal(heads.max() + 1)[heads]
            of_pairs += pair * rng.standard_normal(len(heads))
            of_triplets = tail * rng.standard_normal(tails.max() + 1)[tails]
            of_triplets += sample * rng.standard_normal(tails.shape)
            return np.where(of_pairs[:, None] + of_triplets < ndtri(share), float(count), 0.0)

        editions = []
        for _ in range(n_editions):
            gained = draw(self.gaining, self.n_gained)
            lost = np.minimum(draw(self.losing, self.n_lost), K - gained)
            editions.append(Observations(gained, n, heads, tails, lost))
        return editions


CHANGES = (
    Change(0.3, 1),
    Change(0.05, 1),
    Change(0.05, 8),
    Change(0.1, 4, 0.03, 4),
    Change(0.1, 1, 0.03, 1),
    Change(0.05, 4, 0.01, 4),
    Change(0.3, 1, 0.2, 1),
)


def compare_with_t(observations: Sequence[Observations], truth: float) -> tuple[float, float, float, float]:
    """Return the coverage and the power of our interval, and of the interval of Student's distribution."""
    estimates = estimate(observations)
    limits = estimates.limit()
    error = estimates["standard_error"] * np.sqrt(estimates["inflation"])
    reach = stdtrit(estimates["n_pairs"] - 1, 0.975) * error
    shares = []
    for low, high in ((limits.low, limits.high), (estimates.scores - reach, estimates.scores + reach)):
        shares += [np.mean((low <= truth) & (truth <= high)), np.mean((low > 0) | (high < 0))]
    covers, power, t_covers, t_power = map(float, shares)
    return covers, power, t_covers, t_power


def measure_equal_numbers(
    pairs: pl.DataFrame, answering: Answering, n_editions: int, seed: int
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return (measure, weighting) -> coverage, and the prompts saved against the same share of each relation.

    The variance falls as 1 / prompts.
    """
    rng, sizes = np.random.default_rng(seed), pairs.group_by("relation").len().sort("relation")
    most = max(n for n in range(1, len(pairs)) if sizes["len"].clip(upper_bound=n).sum() <= N_ASKED_PAIRS)
    equal = {name: min(n, most) for name, n in sizes.iter_rows()}
    share = {name: max(2, round(N_ASKED_PAIRS * n / len(pairs))) for name, n in sizes.iter_rows()}
    asked_limits = []
    for counts in (equal, share):
        limit = pl.col("relation").replace_strict(counts, return_dtype=pl.Int64)
        asked = pairs.filter(pl.int_range(pl.len()).over("relation") < limit)
        (right,) = simulate(asked, answering, n_editions, rng)
        asked_limits.append(limit_weighted(pairs, asked, right))
    found = {}
    for (measure, truths), weighting in product(answering.expect(len(sizes)).items(), ("relations", "pairs")):
        if measure != "joint":
            truth = float(np.average(truths, weights=sizes["len"] if weighting == "pairs" else None))
            even, same = (limits[measure, weighting] for limits in asked_limits)
            widths = [float(((each.high - each.low) ** 2).sum()) for each in (even, same)]
            covers = float(np.mean((even.low <= truth) & (truth <= even.high)))
            found[measure, weighting] = covers, 1 - widths[0] / widths[1]
    return found


def limit_weighted(pairs: pl.DataFrame, asked: pl.DataFrame, right: Array) -> dict[tuple[str, str], Limits]:
    """Return (measure, weighting) -> the intervals of the editions, for answers to some pairs of each."""
    frame = pairs.select("pair_id", "relation", tail_commonness=pl.lit(0.0))
    whole = Pairs("e", frame, pairs["head"].to_numpy(), pairs.select("tail", "tail_other").to_numpy())
    is_asked = pairs["pair_id"].is_in(asked["pair_id"].implode()).to_numpy()
    found = {}
    for measure, weighting in product(("average", "mastery"), ("relations", "pairs")):
        mine = combine_samples(measure, right)
        counts = np.zeros((len(mine), len(pairs), mine.shape[2]))
        counts[:, is_asked] = mine.sum(-1)
        n = np.where(is_asked[:, None], float(mine.shape[-1]), 0.0).repeat(mine.shape[2], axis=1)
        weighed = [weigh_relations(whole, (each, n), weighting) for each in counts]
        found[measure, weighting] = estimate([each for each in weighed if each is not None]).limit()
    return found


def render_new_facts(pairs: pl.DataFrame, n_editions: int) -> str:
    """Return one row per measure and share of the tails: ranges over accuracies and shares of the heads."""
    rows = []
    for tails in (0.0, 0.05, 0.2):
        ways = [Answering(p, heads, tails) for p in (0.5, 0.7, 0.9, 0.97) for heads in (0.0, 0.25, 0.5)]
        cells = [measure_coverage(pairs, way, n_editions, seed) for seed, way in enumerate(ways)]
        for measure in MEASURES:
            scores, differences = zip(*(cell[measure] for cell in cells), strict=True)
            ranges = [
                [each.covers for each in scores],
                [each.fixed_base_covers for each in scores],
                [1 - each.covers for each in differences],
                [1 - each.fixed_base_covers for each in differences],
            ]
            n_effective = f"{scores[0].n_effective:.1f}"
            shown = [f"{min(shares):.1%} to {max(shares):.1%}" for shares in ranges]
            rows.append([measure, f"{tails:.0%}", n_effective, *shown])
    columns = ["measure", "tails", "n_effective", "covers", "pairs only", "false alarms", "pairs only"]
    return align(columns, rows)


def render_differences(pairs: pl.DataFrame, n_editions: int) -> str:
    """Return one row per change and shares of heads and tails: coverage and power, ours and Student's."""
    rows = []
    for heads, tails in ((0.0, 0.0), (0.25, 0.05), (0.5, 0.2)):
        way = Answering(0.5, heads, tails, pair_share=0.2 * (1 - heads - tails))
        for change in CHANGES:
            observations = change.simulate(pairs, way, n_editions, seed=1)
            found = compare_with_t(observations, change.difference)
            told = f"{change.gaining:.0%} gain {change.n_gained}, {change.losing:.0%} lose {change.n_lost}"
            rows.append([f"{heads:.0%}", f"{tails:.0%}", told, *(f"{share:.1%}" for share in found)])
    return align(["heads", "tails", "change", "covers", "power", "t covers", "t power"], rows)


def render_equal_numbers(pairs: pl.DataFrame, n_editions: int) -> str:
    """Return one row per measure and weighting: ranges over levels, spreads and shares of the heads."""
    ways = [
        Answering(*values) for values in product((0.65, 0.9), (0.0, 0.25), (0.05,), (0.2,), (0.0, 0.6, 1.0))
    ]
    cells = [measure_equal_numbers(pairs, way, n_editions, seed) for seed, way in enumerate(ways)]
    rows = []
    for key in cells[0]:
        ranges = zip(*(cell[key] for cell in cells), strict=True)
        rows.append([*key, *(f"{min(shares):.1%} to {max(shares):.1%}" for shares in ranges)])
    return align(["measure", "weighting", "covers", "saved"], rows)


def read_arguments(name: str, doc: str | None, arguments: Sequence[str]) -> tuple[pl.DataFrame, int]:
    """Return the test pairs of the edition that the options of a benchmark name, and how many to simulate."""
    parser = build_parser(name, doc)
    add_config(parser)
    parser.add_argument("--editions", type=int, default=500, help="simulated editions of each kind of model")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix=f"pretexeval-{name}-") as folder:
        return read_pairs(build_edition(Path(folder), options.tables)), options.editions


def main(arguments: Sequence[str]) -> None:
    """Print the tables of both simulations."""
    pairs, n_editions = read_arguments("coverage", __doc__, arguments)
    print(f"\nNew facts, {len(pairs)} pairs", render_new_facts(pairs, n_editions), sep="\n\n", flush=True)
    few = pairs.filter(pl.int_range(pl.len()).over("relation") < N_FEW)
    for asked in (few, pairs):
        table = render_differences(asked, 2 * n_editions)
        print(f"\nDifferences, {len(asked)} pairs", table, sep="\n\n", flush=True)
    print("\nEqual numbers of pairs", render_equal_numbers(pairs, n_editions), sep="\n\n")
