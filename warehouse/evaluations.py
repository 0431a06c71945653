"""The answers of an evaluation as arrays: what the scores and differences are computed from.

An array of samples has the shape (pairs, 2, k): the pairs of the edition in the order of their ids, the true
triplet of each before its false twin, and their samples in the order of their slots.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from pretexeval.statistics.clusters import Codes, Observations

Flags = npt.NDArray[np.bool_]
Answers = npt.NDArray[np.int8]
Weights = npt.NDArray[np.int8]
FAILED, NO_ANSWER, FALSE, TRUE = range(4)
"""The values of Answers."""

RUNS = """
select
    run, samples_per_triplet(method) as k,
    any_value(columns(['edition_id', 'period', 'model_id', 'model', 'method', 'scoring_policy', 'repeat']))
from sample_scores
where edition_id = $edition_id and model_id = $model_id
group by run, method
order by method, scoring_policy, repeat, period
"""
PAIRS = """
select
    pair_id, relation, head_cluster, positive_tail_cluster, negative_tail_cluster,
    hash(relation, head) as fact, tail_commonness
from storage.pair_clusters
inner join (from triplets where split = 'test' and is_positive) as facts using (edition_id, pair_id)
where edition_id = $edition_id
"""
SAMPLES = """
select
    pair_id, is_positive, slot, label, is_failed, is_unanswered, is_unfinished, is_refused, prediction,
    is_correct, margin, weight
from sample_scores
where run = $run and slot < $k
"""


@dataclass(frozen=True)
class Pairs:
    """The test pairs of an edition."""

    edition_id: str
    frame: pl.DataFrame
    """pair_id, relation, fact and tail_commonness, with a row per pair in the order of pair_id."""
    heads: Codes
    """A number for the head of each pair, of this edition only. Shape (pairs,)."""
    tails: Codes
    """Numbers for its true and its false tail. Shape (pairs, 2)."""

    def find(self, pair_ids: pl.Series) -> Codes:
        """Return the places of pairs by their ids."""
        return self.frame["pair_id"].search_sorted(pair_ids).to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Evaluation:
    """The answers of a model to the samples of an edition by one method, under one policy, in one repeat."""

    key: dict[str, Any]
    """run, edition_id, period (of anchors), model_id, model, method, scoring_policy and repeat."""
    k: int
    """Samples of a complete triplet."""
    pairs: Pairs
    asked: Flags
    graded: Flags
    right: Flags
    failed: Flags
    unanswered: Flags
    unfinished: Flags
    refused: Flags
    says_true: Flags
    """Has an answer, and it is True."""
    affirms: Flags
    """Has an answer, and it affirms the true fact or the false twin."""
    weight: Weights
    """The samples of its triplet that each sample stands for: 1; 0 or k if the pair is not asked in full."""
    margin: npt.NDArray[np.float64]
    """Log-probability of True minus that of False; nan if unknown."""
    label: Flags

    @cached_property
    def answers(self) -> Answers:
        """Return what each sample was answered with; FAILED if it has no response, or was not asked."""
        answered = np.where(self.says_true, TRUE, np.where(self.unanswered, NO_ANSWER, FALSE))
        return np.where(self.asked & ~self.failed, answered, FAILED).astype(np.int8)

    @cached_property
    def decision(self) -> "Decision":
        """Return which pairs are known to be mastered or not."""
        return decide_pairs(self.asked, self.graded, self.right, self.weight)


@dataclass(frozen=True)
class Decision:
    """The pairs that are known to be mastered or not. Shape (pairs,)."""

    is_in_full: Flags
    """All samples of the pair were to be asked."""
    is_decided: Flags
    """All samples are graded; or the pair is not asked in full, no prompt failed, and a sample is wrong."""
    is_mastered: Flags


def decide_pairs(asked: Flags, graded: Flags, right: Flags, weight: Weights) -> Decision:
    """Return which pairs are known to be mastered or not, from their samples. Shapes (pairs, 2, k)."""
    n_asked, n_graded, n_right = (count_samples(flags).sum(1) for flags in (asked, graded, right))
    is_in_full = np.asarray((weight.max((1, 2)) == 1) & (n_asked > 0))
    is_all_graded = n_graded == 2 * asked.shape[2]
    is_stopped = ~is_in_full & (n_graded == n_asked) & (n_right < n_graded)
    is_decided = is_all_graded | is_stopped
    return Decision(is_in_full, is_decided, is_decided & (n_right == 2 * asked.shape[2]))


def read_evaluations(connection: duckdb.DuckDBPyConnection, pairs: Pairs, model_id: str) -> list[Evaluation]:
    """Return the evaluations of a model on the edition of these pairs; of anchors, one for each period."""
    asked = {"edition_id": pairs.edition_id, "model_id": model_id}
    return [
        _read_evaluation(connection, run, pairs) for run in connection.sql(RUNS, params=asked).pl().to_dicts()
    ]


def read_pairs(connection: duckdb.DuckDBPyConnection, edition_id: str) -> Pairs:
    """Return the test pairs of an edition."""
    frame = connection.sql(PAIRS, params={"edition_id": edition_id}).pl().sort("pair_id")
    heads, tails = number_clusters(frame)
    return Pairs(edition_id, frame.select("pair_id", "relation", "fact", "tail_commonness"), heads, tails)


def number_clusters(frame: pl.DataFrame) -> tuple[Codes, Codes]:
    """Return numbers for the heads of the rows, and for both tails. Shapes (rows,) and (rows, 2)."""
    heads = np.unique(frame["head_cluster"].to_numpy(), return_inverse=True)[1]
    tails = np.concatenate([frame[f"{sign}_tail_cluster"].to_numpy() for sign in ("positive", "negative")])
    return heads, np.unique(tails, return_inverse=True)[1].reshape(2, -1).T.copy()


def _read_evaluation(connection: duckdb.DuckDBPyConnection, run: dict[str, Any], pairs: Pairs) -> Evaluation:
    k = run["k"]
    rows = connection.sql(SAMPLES, params={"run": run["run"], "k": k}).pl()
    places = (
        pairs.find(rows["pair_id"]),
        1 - rows["is_positive"].to_numpy().astype(int),
        rows["slot"].to_numpy(),
    )
    shape = (len(pairs.heads), 2, k)

    def place(flags: pl.Series) -> Flags:
        cube = np.zeros(shape, bool)
        cube[places] = flags.fill_null(False).to_numpy()
        return cube

    weight = np.zeros(shape, np.int8)
    weight[places] = rows["weight"].to_numpy()
    margin = np.full(shape, np.nan)
    margin[places] = rows["margin"].fill_null(np.nan).to_numpy()
    is_answered = ~rows["is_unanswered"]
    return Evaluation(
        key={name: value for name, value in run.items() if name != "k"},
        k=k,
        pairs=pairs,
        asked=place(pl.repeat(True, len(rows), eager=True)),
        graded=place(rows["is_correct"].is_not_null()),
        right=place(rows["is_correct"]),
        failed=place(rows["is_failed"]),
        unanswered=place(rows["is_unanswered"]),
        unfinished=place(rows["is_unfinished"]),
        refused=place(rows["is_refused"]),
        says_true=place(rows["prediction"] & is_answered),
        affirms=place(((rows["prediction"] == rows["label"]) == rows["is_positive"]) & is_answered),
        weight=weight,
        margin=margin,
        label=place(rows["label"]),
    )


def count_samples(flags: Flags) -> Codes:
    """Return how many samples of each triplet have the flag, 8 times as fast as `flags.sum(2)`."""
    return np.asarray(np.einsum("ijk->ij", flags.view(np.uint8)), np.int64)


def add_weights(flags: Flags, weight: Weights) -> Codes:
    """Return the sum of the weights of the flagged samples of each triplet. Shape (pairs, 2)."""
    return np.asarray(np.einsum("ijk,ijk->ij", flags.view(np.int8), weight), np.int64)


def observe(
    pairs: Pairs,
    right: npt.NDArray[Any],
    n: npt.NDArray[Any],
    *,
    rows: Codes | None = None,
    lost: npt.NDArray[Any] | None = None,
    n_most: npt.NDArray[Any] | None = None,
) -> Observations:
    """Return counts of the pairs of an edition, or of these rows of them, as observations."""
    chosen = slice(None) if rows is None else rows
    return Observations(
        right.astype(float),
        n.astype(float),
        pairs.heads[chosen],
        pairs.tails[chosen],
        None if lost is None else lost.astype(float),
        None if n_most is None else n_most.astype(float),
    )
