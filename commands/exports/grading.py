"""Answers read and scored in the tasks for other tools, as in an evaluation (method, sections 3 and 4).

See tasks/evaluation/predictions.py and question_predictions.py. This module imports only the standard library
and modules that the tasks contain a copy of.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.answers.reading import read_answer, read_statement
from tasks.answers.segments import cut_completion
from tasks.asking.thoughts import remove_reasoning


@dataclass(frozen=True)
class GradedSample:
    """One sample with its grade; no answer counts as wrong."""

    pair_id: str
    triplet_id: str
    n_in_triplet: int
    """How many samples a complete triplet has."""
    is_right: bool


def read_row(
    response: str,
    row: Mapping[str, Any],
    prompt_style: str,
) -> str | None:
    """Return what the response answers, written as the right answer is; None if it contains no answer.

    Args:
        row: a row of the files of JSON lines: a sample, or a question, which has options.
        prompt_style: chat or completion; of a completion, only the first line with text is read.
    """
    answer = remove_reasoning(response)
    if answer is not None and prompt_style == "completion":
        answer = cut_completion(answer)
    if "point_id" in row:
        return read_answer(row["type"], answer, row["options"], row["offered"], row["text"]).answer
    prediction = read_statement(answer)
    return None if prediction is None else str(prediction)


def grade_row(row: Mapping[str, Any], *, is_right: bool) -> GradedSample:
    """Return the grade of an answer. A point is what a triplet is for samples: all of it must be right."""
    if "point_id" in row:
        point = str(row["point_id"])
        return GradedSample(point, point, int(row["n_in_point"]), is_right)
    return GradedSample(str(row["pair_id"]), str(row["triplet_id"]), int(row["n_in_triplet"]), is_right)


def compute_accuracy(samples: Sequence[GradedSample]) -> float:
    """Return the share of the samples that are right; NaN if there are none."""
    return _mean([sample.is_right for sample in samples])


def compute_joint_accuracy(samples: Iterable[GradedSample]) -> float:
    """Return the share of the complete triplets whose samples are all right; NaN if none is complete."""
    return _mean([is_right for _, is_right in _list_triplets(samples)])


def compute_mastery(samples: Iterable[GradedSample]) -> float:
    """Return the share of the complete pairs whose samples are all right; NaN if none is complete."""
    return _mean(_list_pairs(samples))


def estimate_accuracy_error(samples: Sequence[GradedSample]) -> float:
    """Return the standard error of the accuracy, with the pair as the cluster."""
    return _estimate_error([(sample.pair_id, sample.is_right) for sample in samples])


def estimate_joint_error(samples: Iterable[GradedSample]) -> float:
    """Return the standard error of the joint accuracy, with the pair as the cluster of its two triplets."""
    return _estimate_error(_list_triplets(samples))


def estimate_mastery_error(samples: Iterable[GradedSample]) -> float:
    """Return the standard error of the mastery, with every pair as a cluster of its own."""
    return _estimate_error([(str(n), is_right) for n, is_right in enumerate(_list_pairs(samples))])


def _list_triplets(samples: Iterable[GradedSample]) -> list[tuple[str, bool]]:
    """Return the pair of every complete triplet, and whether all samples of the triplet are right."""
    triplets: dict[tuple[str, str], list[GradedSample]] = defaultdict(list)
    for sample in samples:
        triplets[sample.pair_id, sample.triplet_id].append(sample)
    return [
        (pair_id, all(sample.is_right for sample in group))
        for (pair_id, _), group in triplets.items()
        if len(group) == group[0].n_in_triplet
    ]


def _list_pairs(samples: Iterable[GradedSample]) -> list[bool]:
    """Return, for every pair whose two triplets are complete, whether all its samples are right."""
    pairs: dict[str, list[bool]] = defaultdict(list)
    for pair_id, is_right in _list_triplets(samples):
        pairs[pair_id].append(is_right)
    return [all(group) for group in pairs.values() if len(group) == 2]


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else math.nan


def _estimate_error(values: Sequence[tuple[str, bool]]) -> float:
    """Return the cluster-robust standard error of the mean, with the correction m / (m − 1) for m clusters.

    It is the `standard_error` of `pretexeval/statistics/clusters.py`: the root of V = m/(m−1) · Σ (c − pN')²
    / N² (Taylor linearisation of a ratio mean). Fewer than two clusters give NaN.

    Args:
        values: the cluster and the value of every observation.
    """
    mean = _mean([value for _, value in values])
    residuals: dict[str, float] = defaultdict(float)
    for cluster, value in values:
        residuals[cluster] += value - mean
    n_clusters = len(residuals)
    if n_clusters < 2:
        return math.nan
    spread = sum(residual**2 for residual in residuals.values())
    return math.sqrt(spread * n_clusters / (n_clusters - 1)) / len(values)
