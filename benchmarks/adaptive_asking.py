"""Measure how many prompts are saved if the answers so far decide which relations are asked more pairs.

`python -m benchmarks.adaptive_asking` prints the cases of docs/budget.md. The answers are simulated: a
probit model as in benchmarks/simulated_answers.py, without shared heads and tails, whose mean varies between
relations. The target is the mean over relations of what other pairs of each would give.
"""

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import t

from benchmarks.pair_allocation import allocate_pairs, shrink_variances
from benchmarks.simulated_answers import Array
from report.console import align

SIZES = {
    "equal sizes": (1000,) * 17,
    "uneven sizes": (
        1458,
        108,
        48,
        89,
        21,
        28,
        30,
        81,
        92,
        59,
        24,
        49,
        41,
        37,
        86,
        53,
        61,
        48,
        701,
        1918,
        893,
    ),
}
"""Pairs of each relation. The uneven sizes are the lines of the relations of the bundled base."""
BUDGETS = {"equal sizes": 1700, "uneven sizes": 600}
"""Pairs that are asked; each pair costs 16 prompts."""
PILOTS = {"equal sizes": 20, "uneven sizes": 8}
"""Pairs of each half of each relation that are asked before anything is decided."""
COMMON, OWN = 0.45**0.5, 0.55**0.5
"""Standard deviations of what the samples of a pair share, and of a sample alone."""
WAYS = ("adaptive", "equal", "proportional")
MEASURES = ("average", "mastery")
MEANS = (0.65, 0.9)
SPREADS = (0.0, 0.6, 1.0)
N_EDITIONS = 500


@dataclass(frozen=True)
class Case:
    """A simulated model: its average accuracy at the middle relation, and how far the relations lie apart."""

    sizes: str
    measure: str
    mean: float
    spread: float

    def place_relations(self) -> Array:
        """Return the mean of the normal variable of each relation, in an order that sizes do not follow."""
        n = len(SIZES[self.sizes])
        places = ndtri((np.random.default_rng(n).permutation(n) + 0.5) / n)
        return np.asarray(ndtri(self.mean) + self.spread * places)

    def expect(self) -> float:
        """Return the expected mean over the relations, by Gauss-Hermite quadrature."""
        x, weights = np.polynomial.hermite_e.hermegauss(80)
        chances = ndtr((self.place_relations()[:, None] + COMMON * x) / OWN)
        return float((chances ** (1 if self.measure == "average" else 16) @ (weights / weights.sum())).mean())


@dataclass(frozen=True)
class Outcome:
    """What a way of asking gave in one edition."""

    mean: float
    half_width: float


def draw_scores(case: Case, rng: np.random.Generator) -> list[Array]:
    """Return the scores of all pairs of each relation, in the order in which they are asked."""
    relations = zip(case.place_relations(), SIZES[case.sizes], strict=True)
    chances = [ndtr((mean + COMMON * rng.standard_normal(n)) / OWN) for mean, n in relations]
    rights = [rng.binomial(16, chance) for chance in chances]
    return [(r == 16).astype(float) if case.measure == "mastery" else r / 16 for r in rights]


def ask_adaptively(halves: list[list[Array]], budget: int, pilot: int) -> list[list[int]]:
    """Return how many pairs of each half of each relation are asked.

    The first pairs of each half decide about the other half. So the number of pairs does not depend on their
    own scores, and the mean of a half is unbiased.
    """
    pilots = [[min(pilot, len(own)) for own in half] for half in halves]
    variances = [_estimate_variances(half, counts) for half, counts in zip(halves, pilots, strict=True)]
    return [
        allocate_pairs(_count(half), counts, other, budget // 2 - sum(counts))
        for half, counts, other in zip(halves, pilots, reversed(variances), strict=True)
    ]


def ask_equally(halves: list[list[Array]], budget: int) -> list[list[int]]:
    """Return the same number of pairs for every relation, as far as it has them."""
    n = len(halves[0])
    return [allocate_pairs(_count(half), [0] * n, [1.0] * n, budget // 2) for half in halves]


def ask_proportionally(halves: list[list[Array]], budget: int) -> list[list[int]]:
    """Return the same share of the pairs of each relation, at least two pairs of each half."""
    total = sum(len(own) for half in halves for own in half)
    return [[max(2, round(budget * len(own) / total)) for own in half] for half in halves]


def estimate(halves: list[list[Array]], counts: list[list[int]]) -> Outcome:
    """Return the mean over relations, with the interval of a stratified sample (Cochran 1977, chapter 5)."""
    asked = list(zip(halves, counts, strict=True))
    n = np.concatenate(counts)
    variances = np.concatenate([_estimate_variances(*half) for half in asked]) / n
    freedom = variances.sum() ** 2 / (variances**2 / (n - 1)).sum()
    mean = np.mean([own[:k].mean() for half in asked for own, k in zip(*half, strict=True)])
    return Outcome(float(mean), float(t.ppf(0.975, freedom) * variances.sum() ** 0.5 / len(n)))


def _estimate_variances(scores: list[Array], counts: list[int]) -> list[float]:
    squares = [float(own[:n].var() * n) for own, n in zip(scores, counts, strict=True)]
    return shrink_variances(counts, squares)


def _count(scores: list[Array]) -> list[int]:
    return [len(own) for own in scores]


def simulate(case: Case, n_editions: int, seed: int) -> dict[str, list[Outcome]]:
    """Return the outcomes of each way of asking, over the same simulated answers."""
    rng, outcomes = np.random.default_rng(seed), {name: list[Outcome]() for name in WAYS}
    budget, pilot = BUDGETS[case.sizes], PILOTS[case.sizes]
    for _ in range(n_editions):
        scores = draw_scores(case, rng)
        halves = [[own[k::2] for own in scores] for k in (0, 1)]
        outcomes["adaptive"].append(estimate(halves, ask_adaptively(halves, budget, pilot)))
        outcomes["equal"].append(estimate(halves, ask_equally(halves, budget)))
        outcomes["proportional"].append(estimate(halves, ask_proportionally(halves, budget)))
    return outcomes


def describe(case: Case, outcomes: dict[str, list[Outcome]]) -> dict[str, float]:
    """Return bias and coverage of adaptive asking, and the prompts that it saves for the same interval.

    The variance of a mean falls as 1 / prompts.
    """
    truth = case.expect()
    means = np.array([outcome.mean for outcome in outcomes["adaptive"]])
    halves = {name: np.array([outcome.half_width for outcome in outcomes[name]]) for name in WAYS}
    width = {name: float(np.square(half).mean()) for name, half in halves.items()}
    return {
        "truth": truth,
        "bias": float(means.mean() - truth),
        "half_width": float(halves["adaptive"].mean()),
        "coverage": float((abs(means - truth) <= halves["adaptive"]).mean()),
        "saved_of_equal": 1 - width["adaptive"] / width["equal"],
        "saved_of_proportional": 1 - width["adaptive"] / width["proportional"],
    }


def main() -> None:
    """Print a table of all cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adaptive_asking", description=__doc__)
    parser.add_argument("--editions", type=int, default=N_EDITIONS, help="simulated editions per case")
    options = parser.parse_args()
    lines = []
    for seed, case in enumerate(Case(*values) for values in product(SIZES, MEASURES, MEANS, SPREADS)):
        found = describe(case, simulate(case, options.editions, seed))
        name = [case.sizes, case.measure, f"{case.mean:.0%}", f"{case.spread:.1f}"]
        lines.append([*name, *(f"{value:.1%}" for value in found.values())])
    header = ["sizes", "measure", "middle", "spread", "truth", "bias", "±", "covers", "saved of equal"]
    print(align([*header, "of proportional"], lines))


if __name__ == "__main__":
    main()
