"""Compute the table `scores`: the scores of every evaluation and of its parts, with their intervals.

A part is a selection of pairs, of samples, or of one triplet of each pair. Its scores are average accuracy,
joint accuracy, mastery and mastery above the best shortcut (docs/statistics.md).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from pretexeval.statistics import intervals
from pretexeval.statistics.clusters import Observations, Spread, measure_spread
from pretexeval.statistics.intervals import Estimates
from schemas.transformations import TRANSFORMATIONS
from warehouse.evaluations import Evaluation, Flags, add_weights, count_samples, observe
from warehouse.means import join_repeats, weigh_evaluation

MAX_LEFT_OUT = 0.2
"""Under `excluded`, joint accuracy and mastery need at least 1 less this share of their units."""
COIN_MASTERY = 0.25
N_BINS = 10
"""Bins of the expected calibration error."""
FORMS = tuple(transformation.name for transformation in TRANSFORMATIONS)
STEPS = (("none", "inv"), ("none", "dn"), ("none", "inv", "dn", "inv_dn"))
"""The forms that count in the steps of `ablations`."""
WITHOUT_MASTERY = ("fact", "transformation", "likelier answer", "choices")
MEASURES = ("average_accuracy", "joint_accuracy", "mastery", "mastery_above_shortcut")
SHORTCUTS = """
select pair_id, shortcut, mastery
from shortcut_scores
where edition_id = $edition_id and method = $method and baseline = 'best'
order by pair_id
"""
GROUPS = """
select pair_id, grouping_by, group_name, group_position
from storage.pair_groups
where edition_id = $edition_id
union all
select pair_id, 'taught', taught_with, 1
from storage.taught_pairs
where edition_id = $edition_id and model_id = $model_id and is_as_taught
union all
select
    pair_id, 'training cutoff', case when is_before then 'listed before' else 'listed after' end,
    2 - is_before::integer
from storage.cutoff_pairs
where edition_id = $edition_id and model_id = $model_id
"""


@dataclass(frozen=True)
class Part:
    """A selection of the samples of an evaluation."""

    grouping_by: str
    group_name: str
    group_position: int
    samples: Flags
    """The selected ones of those asked. Shape (pairs, 2, k)."""
    k: int
    """Selected samples of a complete triplet."""
    n_triplets_per_pair: int = 2


@dataclass
class Rows:
    """Rows of a table, and what the intervals of their scores need."""

    columns: list[dict[str, Any]] = field(default_factory=list)
    spreads: list[Spread] = field(default_factory=list)
    places: list[tuple[int, str]] = field(default_factory=list)
    """The row of each spread, and the name of its score."""

    def add(self, row: dict[str, Any], scores: dict[str, Observations]) -> None:
        """Add a row with the observations of its scores; the column of a score without any is null."""
        for name, observations in scores.items():
            if (spread := measure_spread(observations)) is not None:
                self.spreads.append(spread)
                self.places.append((len(self.columns), name))
        self.columns.append(row)

    def extend(self, rows: Iterable[tuple[dict[str, Any], dict[str, Observations]]]) -> None:
        """Add rows."""
        for row, scores in rows:
            self.add(row, scores)

    def estimate(self, names: Sequence[str]) -> pl.DataFrame:
        """Return the rows with the scores of these names, their limits and their effective numbers."""
        frame = pl.DataFrame(self.columns, infer_schema_length=None).with_row_index("row")
        computed = Estimates(self.spreads).tabulate()
        places = pl.DataFrame(self.places, {"row": pl.UInt32, "name": pl.String}, orient="row")
        estimated = pl.concat([places, computed.drop("p_value", "n_observations")], how="horizontal")
        for name in names:
            own = estimated.filter(pl.col("name") == name).drop("name")
            named = {c: name if c == "score" else f"{name}_{c}" for c in own.columns if c != "row"}
            frame = frame.join(own.rename(named), on="row", how="left", maintain_order="left")
        return frame.drop("row")


def score_evaluations(
    connection: duckdb.DuckDBPyConnection, evaluations: Sequence[Evaluation]
) -> pl.DataFrame:
    """Return one row per evaluation of a model on an edition and part of it; those of anchors have none."""
    rows = Rows()
    with_weights: set[tuple[str, int]] = set()
    tested = [evaluation for evaluation in evaluations if evaluation.key["period"] is None]
    for evaluation in tested:
        key = evaluation.key
        shortcuts = Shortcuts(connection, evaluation)
        for part in _list_parts(connection, evaluation):
            if part.samples.any():
                row, scored = _score_part(evaluation, part, shortcuts, evaluation.graded, evaluation.right)
                rows.add(row, scored)
                if part.grouping_by == "edition":
                    rows.extend(weigh_evaluation(evaluation, row, scored.keys()))
        all_samples = Part("choices", "", 0, evaluation.asked, evaluation.k)
        row, _ = _score_part(evaluation, all_samples, shortcuts, evaluation.graded, evaluation.right)
        for n, choices in enumerate(_count_choices(evaluation), 1):
            named = row | {"group_name": str(n), "group_position": n}
            rows.add(named, {"average_accuracy": choices})
        # The log-probabilities do not depend on the scoring policy, so one policy is enough.
        weighed = (key["method"], key["repeat"])
        if weighed not in with_weights:
            with_weights.add(weighed)
            rows.add(*_score_likelier(evaluation, shortcuts))
    rows.extend(join_repeats(tested))
    return _finish(rows.estimate(MEASURES)) if rows.columns else pl.DataFrame(schema=SCHEMA)


class Shortcuts:
    """Scores of the best shortcut on each pair of an evaluation."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, evaluation: Evaluation) -> None:
        """Read the rows of `best` in shortcut_scores."""
        asked = {name: evaluation.key[name] for name in ("edition_id", "method")}
        best = connection.sql(SHORTCUTS, params=asked).pl()
        places = evaluation.pairs.find(best["pair_id"])
        self.names: npt.NDArray[Any] = np.full(len(evaluation.pairs.heads), "", object)
        self.names[places] = best["shortcut"].to_numpy()
        self.mastery = np.zeros(len(evaluation.pairs.heads))
        self.mastery[places] = best["mastery"].to_numpy()


def _list_parts(connection: duckdb.DuckDBPyConnection, evaluation: Evaluation) -> Iterator[Part]:
    asked, pairs, k = evaluation.asked, evaluation.pairs, evaluation.k
    yield Part("edition", "", 1, asked, k)
    relations = pairs.frame["relation"].to_numpy()
    for relation in np.unique(relations[count_samples(asked).any(1)]):
        yield Part("relation", str(relation), 1, asked & (relations == relation)[:, None, None], k)
    of_model = {name: evaluation.key[name] for name in ("edition_id", "model_id")}
    groups = connection.sql(GROUPS, params=of_model).pl()
    for (grouping_by, name, position), members in groups.group_by(
        "grouping_by", "group_name", "group_position", maintain_order=True
    ):
        is_member = np.zeros(len(relations), bool)
        is_member[pairs.find(members["pair_id"])] = True
        yield Part(str(grouping_by), str(name), int(str(position)), asked & is_member[:, None, None], k)
    for side, name in enumerate(("true fact", "false twin")):
        is_side = np.arange(2) == side
        yield Part("fact", name, side + 1, asked & is_side[:, None], k, n_triplets_per_pair=1)
    if evaluation.key["method"] == "llmeval":
        return
    for slot, form in enumerate(FORMS[:k]):
        yield Part("transformation", form, slot, asked & (np.arange(k) == slot), 1)
    for step in STEPS if k == len(FORMS) else ():
        is_counted = np.isin(FORMS, step)
        yield Part("transformations", ", ".join(step), len(step), asked & is_counted, len(step))


def _score_likelier(
    evaluation: Evaluation, shortcuts: Shortcuts
) -> tuple[dict[str, Any], dict[str, Observations]]:
    """Return the columns and observations if the likelier of both answers counts; a tie is not right."""
    part = Part("likelier answer", "", 1, evaluation.asked, evaluation.k)
    graded = ~np.isnan(evaluation.margin)
    right = graded & (evaluation.margin != 0) & ((evaluation.margin > 0) == evaluation.label)
    row, scores = _score_part(evaluation, part, shortcuts, graded, right)
    counted = graded & (evaluation.weight > 0)
    return row | _measure_calibration(evaluation.margin[counted], evaluation.label[counted]), scores


def _measure_calibration(margin: npt.NDArray[np.float64], label: Flags) -> dict[str, float | None]:
    """Return how well p_true, the softmax of both log-probabilities, tells true samples from false ones.

    - auroc: the chance that a true sample has a higher p_true than a false one, with ties counted half: the
      Mann-Whitney U over n_true · n_false (Hanley and McNeil 1982). Ranks go by margin, because p_true
      reaches 1 at a margin of 37.
    - calibration_error: over N_BINS bins of equal width, Σ n_bin/n · |mean p_true - share true| (expected
      calibration error; Naeini et al. 2015).
    - brier_score: mean of (p_true - label)² (Brier 1950).

    Args:
        margin: log-probability of True minus that of False, of the samples that have both. Shape (samples,).
    """
    n, n_true = len(label), int(label.sum())
    p_true = expit(margin)
    bins = np.minimum(p_true * N_BINS, N_BINS - 1).astype(int)
    gaps = np.bincount(bins, p_true - label)
    excess = pl.Series(margin).rank().to_numpy()[label].sum() - n_true * (n_true + 1) / 2
    return {
        "auroc": _divide(excess, n_true * (n - n_true)),
        "calibration_error": _divide(np.abs(gaps).sum(), n),
        "brier_score": _divide(((p_true - label) ** 2).sum(), n),
    }


def _count_choices(evaluation: Evaluation) -> Iterator[Observations]:
    """Yield the observations of the curve of joint accuracy, for n = 1 to k samples.

    Each choice of n samples of a complete triplet is an observation, but a triplet counts at most k / n
    independent ones, so that both ends agree with average accuracy and joint accuracy.
    """
    k = evaluation.k
    is_in_full = evaluation.decision.is_in_full[:, None]
    is_complete = is_in_full & (count_samples(evaluation.graded) == k)
    n_right = count_samples(evaluation.right)
    for n in range(1, k + 1):
        choices = np.array([comb(count, n) for count in range(k + 1)])
        n_most = is_complete.sum(1) * k / n
        counts = (is_complete * choices[n_right], is_complete * choices[k])
        yield observe(evaluation.pairs, *counts, n_most=n_most)


def _score_part(
    evaluation: Evaluation, part: Part, shortcuts: Shortcuts, graded: Flags, right: Flags
) -> tuple[dict[str, Any], dict[str, Observations]]:
    """Return the columns of a part, and the observations of its scores.

    Args:
        graded: the samples of the evaluation that are graded. Shape (pairs, 2, k).
        right: the right ones of them.
    """
    chosen, k, pairs, decision = part.samples, part.k, evaluation.pairs, evaluation.decision
    graded, right = graded & chosen, right & chosen
    # The one sample of a triplet that is not asked in full stands for the samples of the part.
    weight = np.minimum(evaluation.weight, np.int8(k))
    n, n_right = add_weights(graded, weight), add_weights(right, weight)
    n_counted = np.count_nonzero(graded & (weight > 0), (1, 2))
    has_triplet = decision.is_in_full[:, None] & (n == k)
    is_right = has_triplet & (n_right == k)
    has_pair, pair_right = (flags[:, 0] & flags[:, 1] for flags in (has_triplet, is_right))
    is_asked = count_samples(chosen).any(1)
    if k == evaluation.k and part.grouping_by not in WITHOUT_MASTERY:
        has_pair, pair_right = (flags & is_asked for flags in (decision.is_decided, decision.is_mastered))
    n_asked_pairs, n_pairs, n_complete = int(is_asked.sum()), int((n.sum(1) > 0).sum()), int(has_pair.sum())
    n_triplets = int(has_triplet.sum())
    n_asked_triplets = int((is_asked & decision.is_in_full).sum()) * part.n_triplets_per_pair
    is_strict = evaluation.key["scoring_policy"] != "excluded"
    has_joint = is_strict or n_triplets >= (1 - MAX_LEFT_OUT) * n_asked_triplets
    has_mastery = is_strict or n_complete >= (1 - MAX_LEFT_OUT) * n_asked_pairs
    by_shortcut = part.grouping_by in ("edition", "relation")
    tossed = has_pair & (shortcuts.mastery == COIN_MASTERY)
    counts = {
        name: int(add_weights(getattr(evaluation, name) & chosen, weight).sum())
        for name in ("asked", "failed", "unanswered", "unfinished", "refused", "says_true", "affirms")
    }
    n_errors, n_asked = (
        int(np.count_nonzero(flags & chosen)) for flags in (evaluation.failed, evaluation.asked)
    )
    n_replies = counts["asked"] - counts["failed"]
    n_answers = n_replies - counts["unanswered"]
    row = evaluation.key | {
        "grouping_by": part.grouping_by,
        "group_name": part.group_name,
        "group_position": part.group_position,
        "k": k,
        "n_samples": int(n_counted.sum()),
        "n_pairs": n_pairs,
        "negative_accuracy": _divide(n_right[:, 1].sum(), n[:, 1].sum()),
        "n_triplets": n_triplets,
        "n_triplet_pairs": int(has_triplet.any(1).sum()),
        "left_out_rate": _divide(n_asked_triplets - n_triplets, n_asked_triplets),
        "consistency": _divide((has_triplet & np.isin(n_right, (0, k))).sum(), n_triplets)
        if has_joint
        else None,
        "n_asked_pairs": n_asked_pairs,
        "n_complete_pairs": n_complete,
        "pair_left_out_rate": 1 - n_complete / n_asked_pairs,
        "best_shortcut": " + ".join(sorted(set(shortcuts.names[is_asked]))) if by_shortcut else None,
        "best_shortcut_mastery": _divide(shortcuts.mastery[has_pair].sum(), n_complete)
        if by_shortcut
        else None,
        "tossed_rate": _divide(tossed.sum(), n_complete) if by_shortcut else None,
        "no_answer_rate": _divide(counts["unanswered"], n_replies),
        "unfinished_reasoning_rate": _divide(counts["unfinished"], n_replies),
        "refused_rate": _divide(counts["refused"], n_replies),
        "true_rate": _divide(counts["says_true"], n_answers),
        "affirmed_rate": _divide(counts["affirms"], n_answers),
        "probability_range": _measure_range(evaluation, chosen & decision.is_in_full[:, None, None])
        if part.grouping_by == "fact"
        else None,
        "n_errors": n_errors,
        "error_rate": _divide(n_errors, n_asked),
    }
    scores = {"average_accuracy": observe(pairs, n_right, n, n_most=n_counted)}
    is_plain = part.group_name == "none"
    if has_joint and (by_shortcut or part.grouping_by == "transformations" or is_plain):
        scores["joint_accuracy"] = observe(pairs, is_right, has_triplet)
    if has_mastery and (is_plain or part.grouping_by not in WITHOUT_MASTERY):
        scores["mastery"] = observe(pairs, pair_right[:, None], has_pair[:, None])
    if has_mastery and by_shortcut:
        # The coin's expected mastery of one quarter is subtracted without an error of its own (_finish).
        shortcut_right = has_pair & (shortcuts.mastery == 1)
        gained, lost = pair_right & ~shortcut_right, shortcut_right & ~pair_right
        is_paired = (is_asked & (shortcuts.mastery != COIN_MASTERY)).any()
        others = {"lost": lost[:, None]} if is_paired else {}
        scores["mastery_above_shortcut"] = observe(pairs, gained[:, None], has_pair[:, None], **others)
    return row, scores


def _measure_range(evaluation: Evaluation, chosen: Flags) -> float | None:
    """Return the mean over triplets of the largest minus the smallest probability of affirming the fact."""
    with np.errstate(over="ignore"):
        p_true = 1 / (1 + np.exp(-evaluation.margin))
    is_true_fact = np.array([True, False])[:, None]
    p_affirmed = np.where(evaluation.label == is_true_fact, p_true, 1 - p_true)
    is_known = chosen & ~np.isnan(p_affirmed)
    of_triplets = is_known.any(2)
    if not of_triplets.any():
        return None
    highest = np.where(is_known, p_affirmed, -np.inf).max(2)
    lowest = np.where(is_known, p_affirmed, np.inf).min(2)
    return float((highest - lowest)[of_triplets].mean())


def _divide(count: float, n: float) -> float | None:
    return float(count / n) if n else None


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the coin's mastery subtracted, and without the limits of too few clusters."""
    above = "mastery_above_shortcut"
    coin = COIN_MASTERY * pl.col("tossed_rate")
    has_limits = pl.col(f"{above}_n_effective") >= intervals.MIN_CLUSTERS
    limits = [f"{above}_ci_low", f"{above}_ci_high"]
    subtracted = [pl.when(has_limits).then(pl.col(limit) - coin).alias(limit) for limit in limits]
    subtracted.append(pl.col(above) - coin)
    named = frame.rename({"average_accuracy_n_effective": "n_effective"})
    missing = dict.fromkeys(SCHEMA.keys() - {*named.columns})
    return named.with_columns(*subtracted, **missing).select(list(SCHEMA)).cast(pl.Schema(SCHEMA))


ORDER = (
    "edition_id",
    "model_id",
    "method",
    "scoring_policy",
    "repeat",
    "grouping_by",
    "group_position",
    "group_name",
)
REPEATED = ("n_repeats", "average_accuracy_sd", "mastery_sd", "same_answer_rate")
"""The columns of the means over the repeats alone (means.py)."""
LIMITED = ("average_accuracy", "mastery")
"""The scores that also have limits for a fixed base."""
SCHEMA = {
    **dict.fromkeys(("edition_id", "model_id", "model", "method", "scoring_policy"), pl.String),
    "repeat": pl.Int16,
    **dict.fromkeys(("grouping_by", "group_name"), pl.String),
    "group_position": pl.Int32,
    "run": pl.UInt64,
    **dict.fromkeys(("k", "n_samples", "n_pairs"), pl.Int64),
    **{
        f"{measure}{end}": pl.Float64
        for measure in MEASURES
        for end in ("", "_ci_low", "_ci_high")
        + (("_fixed_base_ci_low", "_fixed_base_ci_high") if measure in LIMITED else ())
    },
    **dict.fromkeys(("n_effective", "negative_accuracy"), pl.Float64),
    **dict.fromkeys(("n_triplets", "n_triplet_pairs"), pl.Int64),
    **dict.fromkeys(("left_out_rate", "consistency"), pl.Float64),
    **dict.fromkeys(("n_asked_pairs", "n_complete_pairs"), pl.Int64),
    "pair_left_out_rate": pl.Float64,
    "best_shortcut": pl.String,
    "best_shortcut_mastery": pl.Float64,
    **dict.fromkeys(("no_answer_rate", "unfinished_reasoning_rate", "refused_rate"), pl.Float64),
    **dict.fromkeys(("true_rate", "affirmed_rate", "probability_range"), pl.Float64),
    **dict.fromkeys(("auroc", "calibration_error", "brier_score"), pl.Float64),
    "n_errors": pl.Int64,
    "error_rate": pl.Float64,
    **dict.fromkeys(REPEATED, pl.Float64),
    "n_repeats": pl.Int64,
}
"""The columns of the table."""
