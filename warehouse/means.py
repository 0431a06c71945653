"""Compute the rows of the table `scores` that are means with weights, or over repeats.

With the grouping_by `weighting` there are means over the relations of the edition, also where a model was
asked different shares of them (pairs_per_relation):

- `relations`: each relation has the same weight;
- `pairs`: a relation has the weight of its test pairs in the edition, which estimates the score over all of
  them without bias;
- `facts`: as `pairs`, but within a relation, common and rare tails count as much as the base has of them.

A measure is null if a relation has no graded sample (for mastery: no complete pair).
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pretexeval.statistics.clusters import Codes, Observations
from warehouse.evaluations import FAILED, Evaluation, Pairs, add_weights, observe

WEIGHTINGS = ("relations", "pairs", "facts")
N_PER_STRATUM = 25
MAX_STRATA = 20
"""Limits of the post-strata of a relation: one for so many of its test pairs, and at most so many."""
Row = dict[str, Any]
Counts = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Right and all observations. Shape (pairs, 2), or (pairs, 1) for pairs as a whole."""


def count_measures(evaluation: Evaluation) -> dict[str, Counts]:
    """Return the observations of average accuracy and of mastery by pair."""
    decision = evaluation.decision
    graded, right = (add_weights(flags, evaluation.weight) for flags in (evaluation.graded, evaluation.right))
    return {
        "average_accuracy": (right, graded),
        "mastery": (decision.is_mastered[:, None].astype(int), decision.is_decided[:, None].astype(int)),
    }


def weigh_evaluation(
    evaluation: Evaluation, whole: Row, measures: Collection[str]
) -> Iterator[tuple[Row, dict[str, Observations]]]:
    """Yield a row for each of WEIGHTINGS, with the observations of these measures.

    Args:
        whole: the row of all samples, which says how many there are and what became of them.
    """
    names = (*evaluation.key, "n_pairs", "n_complete_pairs", "no_answer_rate", "n_errors", "error_rate")
    counted = {name: counts for name, counts in count_measures(evaluation).items() if name in measures}
    for place, weighting in enumerate(WEIGHTINGS, 1):
        row = {name: whole[name] for name in names}
        row |= {"grouping_by": "weighting", "group_name": weighting, "group_position": place}
        weighed = {n: weigh_relations(evaluation.pairs, counts, weighting) for n, counts in counted.items()}
        yield row, {name: found for name, found in weighed.items() if found is not None}


def weigh_relations(pairs: Pairs, counts: Counts, weighting: str) -> Observations | None:
    """Return the observations of a weighted mean; None if a relation has none.

    The weight of a relation is divided among its parts. Under `facts`, these are post-strata (Holt and Smith
    1979) of about equal shares of the base, by how common the true tail is. The most common tails cannot be
    drawn, so the weight of a post-stratum without a graded pair goes to the next one of rarer tails.
    Otherwise, the relation is one part.

    Relations are strata (Cochran 1977, chapter 5): a pair counts in the variance with its deviation from its
    own relation, times √(m/(m−1)) for the m pairs of a relation; relations with one pair are one stratum
    together. The deviation is not taken from the post-stratum: a post-stratum of few tails hides how much
    tails vary. So each pair is observed with its weight, and with the mean plus that deviation.
    """
    right, n = counts
    tested = _divide_relations(pairs.frame, weighting).with_columns(
        right=pl.Series(right.sum(1)), n=pl.Series(n.sum(1))
    )
    parts = _weigh_parts(tested.filter(pl.col("n") > 0))
    weight, share = pl.col("weight"), pl.col("right") / pl.col("n")
    if parts.is_empty() or parts["weight"].sum() < 1 - 1e-9:
        return None
    average = float(parts.select((weight * share).sum()).item())
    of_stratum = pl.col("n_pairs").sum().over("stratum")
    parts = parts.with_columns(
        size=weight / pl.col("n"),
        share=(weight * share).sum().over("stratum") / weight.sum().over("stratum"),
        spread=(of_stratum / (of_stratum - 1).clip(1)).sqrt(),
        n_of_stratum=pl.col("n").sum().over("stratum"),
    )
    keys, names = ("relation", "part"), ("size", "share", "spread")
    placed = tested.join(parts.select(*keys, *names), on=keys, how="left", maintain_order="left")
    size, own_share, spread = (placed[name].fill_null(0).to_numpy()[:, None] for name in names)
    n_independent = _count_independent(parts, average)
    return observe(
        pairs,
        size * (average * n + spread * (right - own_share * n)),
        size * n,
        n_most=None if n_independent is None else n_independent * (size * n).sum(1),
    )


def _divide_relations(frame: pl.DataFrame, weighting: str) -> pl.DataFrame:
    """Return the pairs with their part of the relation, and the weight of the relation."""
    n_tested, n_relations = pl.len().over("relation"), pl.col("relation").n_unique()
    n_strata = (n_tested // N_PER_STRATUM).clip(1, MAX_STRATA).cast(pl.Int64)
    part = pl.min_horizontal((pl.col("tail_commonness") * n_strata).floor().cast(pl.Int64), n_strata - 1)
    return frame.select(
        "relation",
        "tail_commonness",
        part=part if weighting == "facts" else pl.lit(0, pl.Int64),
        relation_weight=1 / n_relations if weighting == "relations" else n_tested / pl.len(),
    )


def _weigh_parts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of the graded pairs with their weight and their stratum."""
    accuracy = pl.col("right") / pl.col("n")
    parts = pairs.group_by("relation", "part").agg(
        pl.col("relation_weight").first(),
        rarer=pl.col("tail_commonness").min(),
        n_pairs=pl.len().cast(pl.Int64),
        right=pl.col("right").sum(),
        n=pl.col("n").sum(),
        varies=accuracy.min() < accuracy.max(),
    )
    # The share of the base that is rarer than the part.
    is_first = pl.col("part") == pl.col("part").min().over("relation")
    start = pl.when(is_first).then(0.0).otherwise("rarer")
    return parts.sort("relation", "part").with_columns(
        stratum=pl.when(pl.col("n_pairs").sum().over("relation") > 1).then("relation"),
        weight=pl.col("relation_weight") * (start.shift(-1).over("relation").fill_null(1.0) - start),
    )


def _count_independent(parts: pl.DataFrame, average: float) -> float | None:
    """Return to how many independent observations the weights amount; None if they do not limit it.

    The share of a stratum is drawn towards the mean by one observation here, because a large relation of
    which no pair is mastered would otherwise have no variance. If no pair deviates, each pair is one
    observation.
    """
    squared = pl.col("weight") ** 2
    if not parts["varies"].any() and parts["stratum"].null_count() <= 1:
        return 1 / float(parts.select((squared / pl.col("n_pairs")).sum()).item())
    drawn = (pl.col("share") * pl.col("n_of_stratum") + average) / (pl.col("n_of_stratum") + 1)
    variance = float(parts.select((squared / pl.col("n") * drawn * (1 - drawn)).sum()).item())
    return average * (1 - average) / variance if variance else None


def join_repeats(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Row, dict[str, Observations]]]:
    """Yield the means over the repeats of each method and policy of a model: the row and its observations.

    All repeats of a pair are one observation of it (the pair is the cluster), so that asking again makes no
    interval narrower than the pairs allow. The standard deviations of the scores over the repeats say how
    much of a difference between two single repeats is chance of the sampling alone. same_answer_rate is the
    share of the samples whose answer (true, false or none) is the same in every repeat; samples of which a
    prompt failed do not count.
    """
    if not any(evaluation.key["repeat"] for evaluation in evaluations):
        return
    groups: dict[tuple[str, str], list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault((evaluation.key["method"], evaluation.key["scoring_policy"]), []).append(evaluation)
    for repeats in groups.values():
        counted = [count_measures(evaluation) for evaluation in repeats]
        answers = np.stack([evaluation.answers for evaluation in repeats])
        is_same = (answers == answers[0]).all(0)[(answers != FAILED).all(0)]
        row = repeats[0].key | {
            "repeat": None,
            "run": None,
            "grouping_by": "repeats",
            "group_name": "",
            "group_position": 1,
            "n_repeats": len(repeats),
            "same_answer_rate": float(is_same.mean()) if is_same.size else None,
        }
        scores = {}
        for name in counted[0]:
            right, n = (np.stack([counts[name][side] for counts in counted]) for side in (0, 1))
            scores[name] = observe(repeats[0].pairs, right.sum(0), n.sum(0), n_most=n.sum(2).max(0))
            row[f"{name}_sd"] = _measure_deviation(right.sum((1, 2)), n.sum((1, 2)))
        row["n_pairs"] = int((scores["average_accuracy"].n.sum(1) > 0).sum())
        yield row, scores


def _measure_deviation(right: Codes, n: Codes) -> float | None:
    """Return the standard deviation of the shares of repeats; None for fewer than two."""
    shares = right[n > 0] / n[n > 0]
    return float(shares.std(ddof=1)) if len(shares) > 1 else None
