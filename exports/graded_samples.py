"""The scores of samples as other tools compute them (method, section 4).

This module imports only the standard library, because the tasks for other tools contain a copy of it.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class GradedSample:
    """One sample with its grade; no answer counts as wrong."""

    pair_id: str
    triplet_id: str
    n_in_triplet: int
    """How many samples a complete triplet has."""
    is_right: bool


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

    It is the root of V of `warehouse/intervals.sql`: V = m/(m−1) · Σ (c − pN')² / N² (Taylor linearisation of
    a ratio mean). Fewer than two clusters give NaN.

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
