"""What a model must score in every view, computed from the kinds of its pairs and not from its answers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb, prod, sqrt
from statistics import fmean

from benchmarks.designed_models import DesignedModel, Eight, PairKind, Pairs
from schemas.transformations import TRANSFORMATIONS

K = len(TRANSFORMATIONS)
ALL_FORMS = tuple(each.name for each in TRANSFORMATIONS)
# The steps of the view transformation_ablation.
STEPS = {
    "pretexeval 1": ("none",),
    "pretexeval 2": ("none", "inv"),
    "pretexeval 3": ("none", "inv", "dn", "inv_dn"),
    "pretexeval 4": ALL_FORMS,
    "pretexttrans 1": ("none",),
    "pretexttrans 2": ("none", "dn"),
    "pretexttrans 3": ("none", "inv", "dn", "inv_dn"),
    "pretexttrans 4": ALL_FORMS,
}


def expect_scores(model: DesignedModel, pairs: Pairs) -> dict[str, float]:
    """Return measure -> its expected value for a model on these pairs."""
    scores = expect_kinds(model.find_kinds(pairs)) | {"no answer": model.no_answer_rate}
    if model.no_answer_rate:
        del scores["share of true"]
    return scores


def expect_kinds(kinds: Sequence[PairKind]) -> dict[str, float]:
    """Return measure -> its expected value where all pairs are of these kinds."""
    scores = {
        "average accuracy": _average(kinds, _mean_right),
        "joint accuracy": _average(kinds, _joint),
        "mastery": _average(kinds, _mastery),
        "consistency": _average(kinds, _consistency),
        "share of true": _average(kinds, _say_true),
    }
    for k, form in enumerate(TRANSFORMATIONS):
        scores[f"accuracy, {form.name}"] = _average(kinds, _mean_right, [k])
    for name, is_negated in (("affirmed", False), ("denied", True)):
        places = [k for k, form in enumerate(TRANSFORMATIONS) if form.is_negated == is_negated]
        scores[f"accuracy, {name}"] = _average(kinds, _mean_right, places)
    for n in range(1, K + 1):
        scores[f"curve, n = {n}"] = _average(kinds, partial(_curve, n=n))
    for name, step in STEPS.items():
        places = [k for k in range(K) if TRANSFORMATIONS[k].name in step]
        scores[f"ablation {name}, accuracy"] = _average(kinds, _mean_right, places)
        scores[f"ablation {name}, joint"] = _average(kinds, _joint, places)
        scores[f"ablation {name}, mastery"] = _average(kinds, _mastery, places)
    return scores


def _average(
    kinds: Iterable[PairKind], score: Callable[[Eight, Eight], float], places: Sequence[int] = range(K)
) -> float:
    return sum(
        kind.share * score(tuple(kind.positive[k] for k in places), tuple(kind.negative[k] for k in places))
        for kind in kinds
    )


def _mean_right(positive: Eight, negative: Eight) -> float:
    return fmean(positive + negative)


def _joint(positive: Eight, negative: Eight) -> float:
    return (prod(positive) + prod(negative)) / 2


def _mastery(positive: Eight, negative: Eight) -> float:
    return prod(positive + negative)


def _consistency(positive: Eight, negative: Eight) -> float:
    return fmean(prod(each) + prod(1 - p for p in each) for each in (positive, negative))


def _say_true(positive: Eight, negative: Eight) -> float:
    """Return how often the answer is True: where it is right and the label is True, or wrong and False."""
    said = []
    for k, each in enumerate(TRANSFORMATIONS):
        said += [1 - positive[k], negative[k]] if each.is_negated else [positive[k], 1 - negative[k]]
    return fmean(said)


def _curve(positive: Eight, negative: Eight, *, n: int) -> float:
    """Return how often n samples, drawn from a triplet, are all right."""
    chosen = [prod(each) for triplet in (positive, negative) for each in combinations(triplet, n)]
    return sum(chosen) / (2 * comb(K, n))


@dataclass(frozen=True)
class Measured:
    """A value of a view; the interval is null where the view gives none."""

    value: float
    low: float | None
    high: float | None
    n_pairs: int

    def agrees(self, expected: float, *, is_exact: bool) -> bool:
        """Return whether the value is as expected: exactly, or within twice the half-width of its interval.

        Twice the half-width of a 95 % interval is about four standard errors. So much is allowed because
        hundreds of values are compared. Where there is no interval, four standard errors of a share of the
        pairs stand in for it.
        """
        if is_exact:
            return abs(self.value - expected) < 1e-9
        if self.low is None or self.high is None:
            return abs(self.value - expected) <= 4 * sqrt(0.25 / self.n_pairs)
        reach = self.high - self.value if expected > self.value else self.value - self.low
        return abs(self.value - expected) <= 2 * reach
