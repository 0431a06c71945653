"""Metrics of inspect_ai for samples and for questions."""

from collections.abc import Callable, Mapping
from typing import Any

from inspect_ai.scorer import CORRECT, Metric, SampleScore, metric

from exports.graded_samples import GradedSample

Grade = Callable[[Mapping[str, Any], bool], GradedSample]
"""Takes the metadata of a sample of inspect_ai, and whether the answer is right."""


def build_metric(compute: Callable[[list[GradedSample]], float], grade: Grade) -> Metric:
    """Return a metric that computes its value from the grades; of several epochs, all must be right."""

    def measure(scores: list[SampleScore]) -> float:
        return compute(
            [grade(score.sample_metadata or {}, score.score.value in (CORRECT, 1, 1.0)) for score in scores]
        )

    return measure


@metric
def no_answer_rate() -> Metric:
    """Share of the samples or questions whose response contains no answer."""

    def measure(scores: list[SampleScore]) -> float:
        return sum(score.score.answer is None for score in scores) / len(scores) if scores else float("nan")

    return measure
