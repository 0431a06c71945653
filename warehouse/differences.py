"""Compute the table `differences`: two scores on the same samples, paired sample by sample.

A sample is compared with the one in the same slot of the same fact, and the only sample of a triplet by a
method without forms with all eight of the other. A measure counts what is graded on both sides.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pretexeval.statistics.clusters import Spread, add_triplets, measure_spread
from pretexeval.statistics.intervals import Estimates, adjust_by_holm
from warehouse.evaluations import (
    FAILED,
    Answers,
    Decision,
    Evaluation,
    Flags,
    Pairs,
    Weights,
    add_weights,
    count_samples,
    decide_pairs,
    observe,
)
from warehouse.scores import FORMS, MAX_LEFT_OUT

AVERAGE, JOINT, MASTERY = "average_accuracy", "joint_accuracy", "mastery"
CHANGED = "changed_answers"
"""The share of the answers (true, false, none) that changed, where both sides have a response."""
CONDITIONS = ("scoring_policy", "repeat")
FAMILY = ("comparison", "edition_id", "method", "scoring_policy", "repeat", "measure")
"""The columns with one value in all comparisons that Holm's method adjusts together."""


@dataclass(frozen=True)
class Side:
    """The samples of one score. Shape (pairs, 2, slots)."""

    key: dict[str, Any]
    """Key columns of the evaluation."""
    pairs: Pairs
    asked: Flags
    graded: Flags
    right: Flags
    weight: Weights
    decision: Decision
    answers: Answers | None = field(default=None, kw_only=True)
    """The answers to the samples; None where no comparison asks for them."""


@dataclass(frozen=True)
class Comparison:
    """Two scores on the same pairs; `difference` is the first less the second."""

    kind: str
    """models, editions, methods, without_rephrasing, without_transformations, forms or anchors."""
    one: Side
    other: Side
    measures: tuple[str, ...]
    part: str | None = None
    """The form, or whether periods of anchors are `successive` or the earlier one is the `first` of all."""
    by_relation: bool = False


def compare_models(ours: Sequence[Evaluation], theirs: Sequence[Evaluation]) -> Iterator[Comparison]:
    """Yield the comparisons of two models on an edition; the first is the one whose id sorts first."""
    for one, other in _match(ours, theirs):
        yield Comparison("models", _take(one), _take(other), (AVERAGE, JOINT, MASTERY), by_relation=True)


def compare_methods(evaluations: Sequence[Evaluation]) -> Iterator[Comparison]:
    """Yield the comparisons of a model with itself on an edition: of methods, of components and of forms."""
    scored = _select_scored(evaluations)
    for one, other in product(scored, scored):
        if _name(one, *CONDITIONS) != _name(other, *CONDITIONS):
            continue
        methods = one.key["method"], other.key["method"]
        if methods[0] == "pretexeval" != methods[1]:
            yield Comparison("methods", _take(one), _align(other, one.k), (AVERAGE,))
        if methods == ("prototype", "pretexeval"):
            measures = (AVERAGE, JOINT, MASTERY)
            yield Comparison("without_rephrasing", _take(one), _take(other), measures)
    for evaluation in scored:
        if evaluation.key["method"] == "pretexeval":
            plain, every = _repeat(evaluation, FORMS[0], evaluation.k), _take(evaluation)
            yield Comparison("without_transformations", plain, every, (AVERAGE, JOINT, MASTERY))
        if evaluation.key["method"] in ("pretexeval", "prototype"):
            plain = _repeat(evaluation, FORMS[0], 1)
            for form in FORMS[1:]:
                yield Comparison("forms", _repeat(evaluation, form, 1), plain, (AVERAGE,), part=form)


def compare_periods(evaluations: Sequence[Evaluation], order: Sequence[str]) -> Iterator[Comparison]:
    """Yield the comparisons of the answers of a model to anchors with those in an earlier period.

    Args:
        order: the periods of the edition of anchors in their order.
    """
    series: dict[tuple[Any, ...], list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.key["period"] is not None:
            series.setdefault(_name(evaluation, "method", *CONDITIONS), []).append(evaluation)
    for asked in series.values():
        asked.sort(key=lambda evaluation: order.index(evaluation.key["period"]))
        sides = [replace(_take(evaluation), answers=evaluation.answers) for evaluation in asked]
        for number, later in enumerate(sides[1:], 1):
            measures = (AVERAGE, MASTERY, CHANGED)
            yield Comparison("anchors", sides[number - 1], later, measures, part="successive")
            if number > 1:
                yield Comparison("anchors", sides[0], later, measures, part="first")


def compare_editions(earlier: Sequence[Evaluation], later: Sequence[Evaluation]) -> Iterator[Comparison]:
    """Yield the comparisons of a model on two editions of a base, by the facts that both test."""
    for one, other in _match(earlier, later):
        yield Comparison("editions", _take(one), _place(other, one.pairs), (AVERAGE, MASTERY))


def _match(
    ones: Sequence[Evaluation], others: Sequence[Evaluation]
) -> Iterator[tuple[Evaluation, Evaluation]]:
    """Yield the evaluations by the same method, under the same policy, in the same repeat."""
    for one, other in product(_select_scored(ones), _select_scored(others)):
        if _name(one, "method", *CONDITIONS) == _name(other, "method", *CONDITIONS):
            yield one, other


def _name(evaluation: Evaluation, *names: str) -> tuple[Any, ...]:
    return tuple(evaluation.key[name] for name in names)


def _select_scored(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return all but the evaluations of anchors, which have no scores."""
    return [evaluation for evaluation in evaluations if evaluation.key["period"] is None]


def _take(evaluation: Evaluation) -> Side:
    flags = evaluation.asked, evaluation.graded, evaluation.right
    return Side(evaluation.key, evaluation.pairs, *flags, evaluation.weight, evaluation.decision)


def _repeat(evaluation: Evaluation, form: str, n_slots: int) -> Side:
    """Return the samples under one form, as often as this, of the pairs that are asked in full."""
    slot = FORMS.index(form)
    whole = evaluation.decision.is_in_full[:, None, None]
    asked, graded, right = (
        np.repeat((flags & whole)[:, :, slot : slot + 1], n_slots, axis=2)
        for flags in (evaluation.asked, evaluation.graded, evaluation.right)
    )
    weight = asked.astype(np.int8)
    decision = decide_pairs(asked, graded, right, weight)
    return Side(evaluation.key, evaluation.pairs, asked, graded, right, weight, decision)


def _align(evaluation: Evaluation, n_slots: int) -> Side:
    """Return the samples, or the single one of each triplet as often as this."""
    return _take(evaluation) if evaluation.k == n_slots else _repeat(evaluation, FORMS[0], n_slots)


def _place(evaluation: Evaluation, target: Pairs) -> Side:
    """Return the samples at the places that their facts have in another edition."""
    facts = evaluation.pairs.frame.select("fact", source=pl.int_range(pl.len()))
    places = target.frame.select("fact", target=pl.int_range(pl.len())).join(facts, on="fact")
    rows, sources = places["target"].to_numpy(), places["source"].to_numpy()

    def place(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        placed = np.zeros((len(target.heads), *array.shape[1:]), array.dtype)
        placed[rows] = array[sources]
        return placed

    asked, graded, right = map(place, (evaluation.asked, evaluation.graded, evaluation.right))
    decision = Decision(*(place(flags) for flags in vars(evaluation.decision).values()))
    return Side(evaluation.key, evaluation.pairs, asked, graded, right, place(evaluation.weight), decision)


def measure_differences(comparisons: Iterable[Comparison]) -> pl.DataFrame:
    """Return one row per comparison, relation (null: all of them) and measure, with intervals and tests."""
    rows: list[dict[str, Any]] = []
    spreads: list[Spread] = []
    for comparison in comparisons:
        for row, spread in _measure(comparison):
            rows.append(row)
            spreads.append(spread)
    if not rows:
        return pl.DataFrame(schema=SCHEMA)
    estimates = Estimates(spreads)
    computed = estimates.tabulate().rename(NAMED)
    errors = estimates["standard_error"] * np.sqrt(estimates["inflation"])
    frame = pl.concat([pl.DataFrame(rows, infer_schema_length=None), computed], how="horizontal")
    # A sample that stands for others, because they were not asked, is one observation.
    n_observations = pl.coalesce("n_counted", "n_observations").alias("n_observations")
    frame = frame.with_columns(n_observations, difference_se=pl.Series(errors).fill_nan(None))
    # Only answers to questions have a setting (estimated/question_differences.sql).
    frame = frame.with_columns(setting=None, other_setting=None)
    return frame.select(list(SCHEMA)).cast(pl.Schema(SCHEMA))


def _measure(comparison: Comparison) -> Iterator[tuple[dict[str, Any], Spread]]:
    """Yield a row for each relation and measure that has an observation, with what its interval needs."""
    one, other = comparison.one, comparison.other
    pairs, k = one.pairs, one.graded.shape[2]
    shared = one.graded & other.graded
    # A side that is asked in full has each sample of the other side.
    weight = np.where((one.weight > 0) & (other.weight > 0), np.maximum(one.weight, other.weight), 0)
    n, n_counted = add_weights(shared, weight), np.count_nonzero(shared & (weight > 0), (1, 2))
    right, other_right, both = (
        add_weights(array & shared, weight) for array in (one.right, other.right, one.right & other.right)
    )
    is_in_full = one.decision.is_in_full & other.decision.is_in_full
    has_triplet, is_right, is_other_right = is_in_full[:, None] & (n == k), right == k, other_right == k
    has_pair, whole, other_whole = (
        flags[:, None]
        for flags in (
            one.decision.is_decided & other.decision.is_decided,
            one.decision.is_mastered,
            other.decision.is_mastered,
        )
    )
    whole, other_whole = whole & has_pair, other_whole & has_pair
    counted = {
        AVERAGE: (n, right - both, other_right - both, both),
        JOINT: (has_triplet, *_compare_flags(has_triplet & is_right, has_triplet & is_other_right)),
        MASTERY: (has_pair, *_compare_flags(whole, other_whole)),
    }
    if one.answers is not None and other.answers is not None:
        is_answered = (one.answers != FAILED) & (other.answers != FAILED)
        n_answered = count_samples(is_answered)
        n_changed = count_samples(is_answered & (one.answers != other.answers))
        counted[CHANGED] = n_answered, n_changed, np.zeros_like(n), n_answered - n_changed
    is_matched = np.asarray(count_samples(one.asked & other.asked).any(1))
    parts: list[tuple[str | None, Flags]] = [(None, is_matched)]
    if comparison.by_relation:
        relations = pairs.frame["relation"].to_numpy()
        parts += [(str(name), is_matched & (relations == name)) for name in np.unique(relations[is_matched])]
    for relation, is_part in parts:
        rows = np.nonzero(is_part)[0]
        for measure in comparison.measures:
            size, gained, lost, alike = (array[rows] for array in counted[measure])
            if not _has_enough(one.key, measure, int(size.sum()), len(rows)):
                continue
            # What has changed is one share, and no difference of two.
            is_share = measure == CHANGED
            most = n_counted[rows] if measure == AVERAGE else None
            observed = observe(pairs, gained, size, rows=rows, lost=None if is_share else lost, n_most=most)
            if (spread := measure_spread(observed)) is not None:
                total = size.sum()
                of_pairs, lost_of_pairs = (add_triplets(array.astype(float)) for array in (gained, lost))
                scores = {
                    "n_counted": int(n_counted[rows].sum()) if measure == AVERAGE else None,
                    "score": None if is_share else (gained.sum() + alike.sum()) / total,
                    "other_score": None if is_share else (lost.sum() + alike.sum()) / total,
                    "n_gained": int(gained.sum()),
                    "n_lost": int(lost.sum()),
                    "n_gained_pairs": int((of_pairs > lost_of_pairs).sum()),
                    "n_lost_pairs": int((of_pairs < lost_of_pairs).sum()),
                }
                yield _name_row(comparison, relation, measure, len(rows)) | scores, spread


def _compare_flags(flags: Flags, others: Flags) -> tuple[Flags, Flags, Flags]:
    """Return what only the first has, what only the second has, and what both have."""
    return flags & ~others, others & ~flags, flags & others


def _has_enough(key: dict[str, Any], measure: str, n_observations: int, n_matched: int) -> bool:
    """Return whether so many units are complete that they are not the models' own selection (scores.py)."""
    if key["scoring_policy"] != "excluded" or measure not in (JOINT, MASTERY):
        return True
    return n_observations >= (1 - MAX_LEFT_OUT) * n_matched * (1 if measure == MASTERY else 2)


def _name_row(comparison: Comparison, relation: str | None, measure: str, n_matched: int) -> dict[str, Any]:
    one, other = comparison.one.key, comparison.other.key
    row = {"comparison": comparison.kind, **one}
    row |= {
        f"other_{name}": other[name]
        for name in ("edition_id", "period", "model_id", "model", "method", "run")
    }
    return row | {"part": comparison.part, "relation": relation, "measure": measure, "n_matched": n_matched}


def adjust(frame: pl.DataFrame) -> pl.DataFrame:
    """Add holm_p_value, which allows for the number of comparisons.

    These are the pairs of models of an edition, the relations of all such pairs, or the forms of one model.
    """
    own = pl.when(pl.col("comparison") == "forms").then(pl.col("run")).alias("family_run")
    is_whole = pl.col("relation").is_null().alias("is_whole")
    families = frame.with_columns(own, is_whole, number=pl.int_range(pl.len()))
    adjusted = np.full(len(frame), np.nan)
    for (comparison, *_), family in families.group_by(*FAMILY, "family_run", "is_whole"):
        if comparison in ("models", "forms"):
            p_values = family["p_value"].fill_null(np.nan).to_numpy()
            adjusted[family["number"].to_numpy()] = adjust_by_holm(p_values)
    return frame.with_columns(pl.Series("holm_p_value", adjusted).fill_nan(None))


KEY = ("comparison", "edition_id", "other_edition_id", "model_id", "other_model_id", "method", "other_method")
ORDER = (*KEY, "scoring_policy", "repeat", "period", "other_period", "part", "relation", "measure")
NAMED = {"score": "difference"} | {
    f"{kind}ci_{end}": f"difference_{kind}ci_{end}" for kind in ("", "fixed_base_") for end in ("low", "high")
}
"""Column of the estimates -> its name here."""
SCHEMA = {
    **dict.fromkeys(("comparison", "edition_id", "other_edition_id", "period", "other_period"), pl.String),
    **dict.fromkeys(("model_id", "model", "other_model_id", "other_model"), pl.String),
    **dict.fromkeys(("setting", "other_setting"), pl.String),
    **dict.fromkeys(("method", "other_method", "scoring_policy"), pl.String),
    "repeat": pl.Int16,
    **dict.fromkeys(("part", "relation", "measure"), pl.String),
    **dict.fromkeys(("n_matched", "n_pairs", "n_observations"), pl.Int64),
    **dict.fromkeys(("score", "other_score", "difference", "difference_se"), pl.Float64),
    **dict.fromkeys(("difference_ci_low", "difference_ci_high"), pl.Float64),
    **dict.fromkeys(("difference_fixed_base_ci_low", "difference_fixed_base_ci_high"), pl.Float64),
    **dict.fromkeys(("p_value", "n_effective"), pl.Float64),
    **dict.fromkeys(("n_gained", "n_lost", "n_gained_pairs", "n_lost_pairs"), pl.Int64),
    **dict.fromkeys(("run", "other_run"), pl.UInt64),
}
"""The columns of the table, without those of McNemar's test (scoring.py)."""
