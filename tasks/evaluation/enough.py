"""Ask no more than the scores need: `ask = "enough"` of [scoring] (docs/statistics.md).

Every triplet is asked in one form, chosen at random, which is enough for average accuracy. One pair in ten is
asked in full, for everything that compares the samples of a triplet. Every other pair goes on until its first
wrong answer, after which it cannot be mastered, so mastery is the same as if everything had been asked.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.primitives.hashing import draw_order, hash_text
from pretexeval.statistics.clusters import Observations, measure_spread
from pretexeval.statistics.intervals import Estimates
from schemas.transformations import NAMES, TRANSFORMATIONS

Flags = NDArray[np.bool_]
FULL_SHARE = 10
"""One pair in so many is asked in full."""
PAIR = ("unit_id", "group")
"""The samples of one pair by one method."""
FIRST_LOOK = 100
LOOK_FACTOR = 1.25
"""An evaluation with a precision may end after FIRST_LOOK pairs, and after each LOOK_FACTOR times as many."""
_NEGATED = [transformation.name for transformation in TRANSFORMATIONS if transformation.is_negated]
_PLACES = {name: place for place, name in enumerate(NAMES)}


def weigh_items(items: pl.DataFrame) -> pl.DataFrame:
    """Return the items of test pairs with their `weight`, `cell` and `turn`.

    - weight: how many samples of its triplet an item stands for in averages. It is 1 if the pair is asked in
      full. Otherwise it is the number of samples for the one that is always asked, and 0 for the others,
      which are asked until one of them is answered wrongly.
    - cell: the place of the item among the samples of its pair, true triplet first.
    - turn: the share of the pairs of the file that are asked before this one or with it, in (0, 1].

    The forms that are always asked are balanced: of 64 pairs, each combination of a form for the true triplet
    and one for the false twin has one.

    Args:
        items: the tested items of one file of samples, with all samples of their pairs.
    """
    units = draw_order(items["unit_id"].unique(), "asked")
    is_partial = [int(hash_text("asked in full", unit), 16) % FULL_SHARE > 0 for unit in units]
    pairs = pl.DataFrame(
        {
            "unit_id": units,
            "turn": (np.arange(len(units)) + 1) / max(len(units), 1),
            "is_partial": is_partial,
        },
        {"unit_id": pl.String, "turn": pl.Float64, "is_partial": pl.Boolean},
    ).with_columns(rank=pl.when("is_partial").then(pl.col("is_partial").cum_sum().cast(pl.Int64) - 1))
    triplet = (*PAIR, "is_positive")
    is_negated = pl.col("form").is_in(_NEGATED).fill_null(value=False)
    order = pl.col("form").replace_strict(_PLACES, default=0, return_dtype=pl.Int64)
    place = pl.struct(order, "item_id").rank("ordinal").over(triplet).cast(pl.Int64) - 1
    weighed = (
        items.join(pairs, on="unit_id", how="left", maintain_order="left")
        .with_columns(is_positive=(pl.col("answer") == "T") != is_negated)
        .with_columns(place=place, k=pl.len().over(triplet).cast(pl.Int64))
        .with_columns(
            base=pl.when("is_positive").then("rank").otherwise(pl.col("rank") + pl.col("rank") // pl.col("k"))
            % pl.col("k")
        )
        .with_columns(
            weight=pl.when(pl.col("rank").is_null() | (pl.col("k") == 1))
            .then(1)
            .when(pl.col("place") == pl.col("base"))
            .then("k")
            .otherwise(0)
            .cast(pl.Int16),
            cell=(pl.col("place") + (~pl.col("is_positive")) * len(TRANSFORMATIONS)).cast(pl.Int16),
        )
    )
    return weighed.select(*(name for name in items.columns if name != "weight"), "weight", "cell", "turn")


def decide_pairs(judged: pl.DataFrame) -> pl.DataFrame:
    """Return a row per pair and method: is_open, is_mastered (null if it is open or a prompt failed), turn.

    A pair is open while its first wrong answer is not known and a sample of it has no answer.

    Args:
        judged: the weighed items with is_answered and is_right (null if the prompt failed).
    """
    is_failed = pl.col("is_answered") & pl.col("is_right").is_null()
    is_wrong = pl.col("is_right").not_().fill_null(value=False)
    decided = judged.group_by(*PAIR, maintain_order=True).agg(
        pl.col("turn").first(),
        has_failed=is_failed.any(),
        is_wrong=is_wrong.any(),
        lacks_base=(~pl.col("is_answered") & (pl.col("weight") > 0)).any(),
        lacks_answer=(~pl.col("is_answered")).any(),
    )
    is_open = pl.col("lacks_base") | (pl.col("lacks_answer") & ~pl.col("is_wrong") & ~pl.col("has_failed"))
    return decided.select(
        *PAIR,
        "turn",
        is_open=is_open,
        is_mastered=pl.when(~is_open & ~pl.col("has_failed")).then(~pl.col("is_wrong")),
    )


def order_cells(judged: pl.DataFrame) -> dict[str, list[int]]:
    """Return method -> the cells of a pair, those first that decide most pairs.

    The first is the cell with most wrong answers among the pairs that are asked in full. Each next one has
    most wrong answers among those of these pairs that are right in all cells before it. Which order is taken
    changes the number of prompts, and no score.

    Args:
        judged: as `decide_pairs` takes them.
    """
    orders = {}
    for (group,), rows in judged.filter(pl.col("weight") == 1).group_by("group", maintain_order=True):
        table = rows.pivot("cell", index="unit_id", values="is_right", sort_columns=True).drop("unit_id")
        cells = [int(name) for name in table.columns]
        right = table.fill_null(value=True).to_numpy().astype(bool)
        orders[str(group)] = [cells[place] for place in _order_places(~right)]
    return orders


def _order_places(wrong: Flags) -> list[int]:
    """Return the order of the cells.

    Args:
        wrong: the wrong answers of the pairs that are asked in full. Shape (pairs, cells).
    """
    left, order = np.ones(len(wrong), bool), list[int]()
    # Where no pair is left, the cells are taken by their own number of wrong answers.
    own = wrong.sum(0) / (len(wrong) + 1)
    for _ in range(wrong.shape[1]):
        counts = wrong[left].sum(0) + own
        counts[order] = -1
        order.append(int(counts.argmax()))
        left &= ~wrong[:, order[-1]]
    return order


def count_prompts(weight: NDArray[np.integer], right: Flags) -> NDArray[np.int64]:
    """Return how many prompts of each pair are asked.

    Args:
        weight: the weight of each cell. Shape (pairs, cells).
        right: whether the answer to it is right; all are known. Shape (pairs, cells).
    """
    is_in_full, is_base = (weight == 1).any(1), weight > 0
    rank = np.argsort(_order_places(~right[is_in_full]))
    places = np.argsort(np.where(is_base, -1, rank), axis=1, kind="stable")
    wrong, n_cells = np.take_along_axis(~right, places, 1), right.shape[1]
    until = np.where(wrong.any(1), wrong.argmax(1) + 1, n_cells)
    return np.where(is_in_full, n_cells, np.maximum(until, is_base.sum(1)))


def list_next(judged: pl.DataFrame, orders: Mapping[str, Sequence[int]], n_cells: int) -> pl.DataFrame:
    """Return the next items of each open pair, at most `n_cells` of each, in the order of its method."""
    waiting = judged.filter(~pl.col("is_answered")).join(
        decide_pairs(judged).filter("is_open"), on=PAIR, how="semi", maintain_order="left"
    )
    places = [(group, cell, place) for group, order in orders.items() for place, cell in enumerate(order)]
    schema = {"group": pl.String, "cell": pl.Int16, "place_asked": pl.Int64}
    ordered = pl.DataFrame(places, schema, orient="row")
    return (
        waiting.join(ordered, on=("group", "cell"), how="left", maintain_order="left")
        .sort("place_asked", "cell", nulls_last=True, maintain_order=True)
        .group_by(PAIR, maintain_order=True)
        .head(n_cells)
        .select(judged.columns)
    )


def list_looks(n_pairs: int, *, has_precision: bool) -> list[float]:
    """Return the shares of the pairs after which an evaluation with a precision may end; the last is 1."""
    looks, n = list[float](), float(FIRST_LOOK)
    while has_precision and n < n_pairs:
        looks.append(n / n_pairs)
        n *= LOOK_FACTOR
    return [*looks, 1.0]


def find_last_look(decided: pl.DataFrame, looks: Sequence[float]) -> float:
    """Return the last look up to which no pair is open; the first one if there is none."""
    open_turns = decided.filter("is_open")["turn"].to_list()
    whole = [look for look in looks if look < min(open_turns, default=2)]
    return whole[-1] if whole else looks[0]


def select_needed(judged: pl.DataFrame, looks: Sequence[float]) -> pl.DataFrame:
    """Return the item_id of the items that are scored: those with an answer, up to the last look.

    Args:
        judged: as `decide_pairs` takes them, all items of an evaluation.
    """
    look = find_last_look(decide_pairs(judged), looks)
    return judged.filter(pl.col("is_answered") & (pl.col("turn") <= look)).select("item_id")


def add_outcomes(items: pl.DataFrame, outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the items with is_answered and is_right.

    Args:
        outcomes: item_id and is_right of the items that have an answer.
    """
    answered = outcomes.with_columns(is_answered=pl.lit(value=True))
    joined = items.join(answered, on="item_id", how="left", maintain_order="left")
    return joined.with_columns(pl.col("is_answered").fill_null(value=False))


def measure_half_width(judged: pl.DataFrame, clusters: pl.DataFrame) -> float:
    """Return half the width of the 95 % interval of mastery for new facts, the widest one of all methods.

    It is 1 while no pair is decided.

    Args:
        judged: as `decide_pairs` takes them.
        clusters: unit_id, head, true_tail and false_tail.
    """
    decided = decide_pairs(judged).drop_nulls("is_mastered").join(clusters, on="unit_id", how="inner")
    widths = [1.0] if decided.is_empty() else []
    for rows in decided.partition_by("group"):
        tails = pl.concat([rows["true_tail"], rows["false_tail"]]).rank("dense").to_numpy().astype(np.int64)
        mastered = rows["is_mastered"].to_numpy().astype(float)[:, None]
        heads = rows["head"].rank("dense").to_numpy().astype(np.int64)
        spread = measure_spread(
            Observations(mastered, np.ones_like(mastered), heads, tails.reshape(2, -1).T.copy())
        )
        if spread is not None:
            limits = Estimates([spread]).limit()
            widths.append(float((limits.high - limits.low)[0]) / 2)
    return max(widths)
