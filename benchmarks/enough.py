"""Prompts, accuracy and coverage with `ask = "enough"`: ``python -m benchmarks --only enough``.

Models answer the pairs of a real edition, as simulated in benchmarks/coverage.py, and have a mean for each
form. The items are weighed and ordered by the code that evaluates models (tasks/evaluation/enough.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.coverage import Answering, Array, K, estimate, observe, read_arguments, simulate
from pretexeval.statistics.clusters import Observations
from pretexeval.statistics.intervals import Estimates
from report.console import align
from schemas.transformations import TRANSFORMATIONS
from tasks.evaluation.enough import count_prompts, list_looks, weigh_items

MASTERIES = (0.1, 0.26, 0.5, 0.8)
HALF_WIDTHS = (0.02, 0.05)
FORMS = 0.3 * np.random.default_rng(1).standard_normal((2, K))
"""What is added to the normal variable of each form, of the true triplets and of their false twins."""


@dataclass(frozen=True)
class Plan:
    """The weights of the samples of an edition. Shape (pairs, 2, K)."""

    weight: Array
    turn: Array
    """The share of the pairs of its relation that are asked up to a pair. Shape (pairs,)."""


def plan_pairs(pairs: pl.DataFrame) -> Plan:
    """Return the weights that the samples of these pairs have in an evaluation."""
    items = pairs.select("relation", unit_id="pair_id", group=pl.lit("pretexeval")).join(
        pl.DataFrame(
            [
                (form.name, "T" if is_positive != form.is_negated else "F", f"{is_positive}{form.name}")
                for is_positive in (True, False)
                for form in TRANSFORMATIONS
            ],
            ["form", "answer", "item_id"],
            orient="row",
        ).with_columns(weight=pl.lit(1, pl.Int16)),
        how="cross",
    )
    weighed = pl.concat(weigh_items(rows) for rows in items.partition_by("relation", maintain_order=True))
    table = weighed.sort("relation", "unit_id", "cell")
    weight = table["weight"].to_numpy().reshape(-1, 2, K)
    turn = table["turn"].to_numpy().reshape(-1, 2 * K)[:, 0]
    return Plan(weight, turn)


def find_way(pairs: pl.DataFrame, mastery: float, heads: float, tails: float) -> Answering:
    """Return the model of this mastery, found by bisection."""
    low, high = 0.4, 0.9999
    for _ in range(14):
        middle = (low + high) / 2
        way = Answering(middle, heads, tails)
        (right,) = simulate(pairs, way, 4, np.random.default_rng(2), forms=FORMS)
        found = right.all((2, 3)).mean()
        low, high = (middle, high) if found < mastery else (low, middle)
    return way


def estimate_accuracy(pairs: pl.DataFrame, plan: Plan, right: Array) -> Estimates:
    """Return the accuracy by weight, and that of all samples."""
    heads, tails = pairs["head"].to_numpy(), pairs.select("tail", "tail_other").to_numpy()
    observations = []
    for weight in (plan.weight, np.ones_like(plan.weight)):
        gained, n = (right * weight).sum(2).astype(float), weight.sum(2).astype(float)
        n_most = (weight > 0).sum((1, 2)).astype(float)
        observations.append(Observations(gained, n, heads, tails, n_most=n_most))
    return estimate(observations)


def stop_when_precise(
    pairs: pl.DataFrame, plan: Plan, right: Array, half_width: float
) -> tuple[float, float, float, float]:
    """Return mastery with its limits, and the share of the pairs, at the first look that is precise."""
    for look in list_looks(len(pairs), has_precision=True):
        taken = plan.turn <= look
        (observations,) = observe(pairs.filter(pl.Series(taken)), "mastery", right[None, taken])
        estimates = estimate([observations])
        limits = estimates.limit()
        if limits.high[0] - limits.low[0] <= 2 * half_width or look == 1:
            ends = estimates.scores[0], limits.low[0], limits.high[0]
            return float(ends[0]), float(ends[1]), float(ends[2]), float(taken.mean())
    raise AssertionError("the last look has all pairs")


def render_row(pairs: pl.DataFrame, plan: Plan, way: Answering, n_editions: int) -> list[str]:
    """Return the figures of one model."""
    rng = np.random.default_rng(3)
    results = [simulate(pairs, way, 1, rng, forms=FORMS)[0][0] for _ in range(n_editions)]
    masteries = [right.all((1, 2)).mean() for right in results]
    truth, expected = (float(np.mean(values)) for values in ([r.mean() for r in results], masteries))
    weight = plan.weight.reshape(-1, 2 * K)
    prompts = [count_prompts(weight, right.reshape(-1, 2 * K)).mean() / (2 * K) for right in results[:50]]
    estimates = [estimate_accuracy(pairs, plan, right) for right in results]
    limits = [each.limit() for each in estimates]
    covers = np.mean([each.low[0] <= truth <= each.high[0] for each in limits])
    widths = np.mean([each.high - each.low for each in limits], axis=0)
    bias = np.mean([each.scores[0] - each.scores[1] for each in estimates])
    row = [f"{expected:.2f}", f"{way.head_share:.0%}", f"{way.tail_share:.0%}", f"{np.mean(prompts):.1%}"]
    row += [f"{100 * bias:+.2f}", f"{widths[0] / widths[1]:.2f}", f"{covers:.1%}"]
    for half_width in HALF_WIDTHS:
        ends = [stop_when_precise(pairs, plan, right, half_width) for right in results]
        covered = np.mean([low <= expected <= high for _, low, high, _ in ends])
        row += [f"{np.mean([share for *_, share in ends]):.0%}", f"{covered:.1%}"]
    return row


def main(arguments: Sequence[str]) -> None:
    """Print a row for each simulated model."""
    pairs, n_editions = read_arguments("enough", __doc__, arguments)
    plan = plan_pairs(pairs)
    columns = ["mastery", "heads", "tails", "prompts", "bias (points)", "width", "covers"]
    columns += [f"{text} at {half:.0%}" for half in HALF_WIDTHS for text in ("pairs", "covers")]
    rows = [
        render_row(pairs, plan, find_way(pairs, mastery, heads, tails), n_editions)
        for heads, tails in ((0.0, 0.0), (0.25, 0.05), (0.5, 0.2))
        for mastery in MASTERIES
    ]
    print(f"\n{len(pairs)} pairs", align(columns, rows), sep="\n\n")
