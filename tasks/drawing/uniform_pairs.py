"""Uniform negatives, as in the papers: any tail of the relation that may be false of the head."""

import numpy as np
import polars as pl

from pretexeval.primitives.mixing import combine, hash_column
from tasks.drawing.balanced_pairs import PAIRS_SCHEMA
from tasks.drawing.evidence import Evidence, locate
from tasks.drawing.series import SeriesTurn


def draw_uniform(
    evidence: Evidence, heads: pl.Series, seed: int, turn: SeriesTurn | None = None
) -> pl.DataFrame:
    """Return the columns head, positive and negative of those heads that have a possible negative.

    Positives are drawn from the true tails of the head, and negatives from those that the base asserts to be
    false of it, or else from all tails that may be false of it. In a series of editions, the tails of both
    kinds take turns.
    """
    facts, given = evidence.facts, heads.to_frame("head")
    salt = (str(seed),) if turn is None else ("series", str(turn.seed))
    number = 0 if turn is None else turn.number
    positives = _take_turn(facts.draw(facts.list_tested(given), *salt, "positive"), number)
    asserted = facts.list_false(given, facts.list_true(given))
    negatives = _take_turn(facts.draw(asserted, *salt, "negative"), number)
    waiting = given.join(negatives, on="head", how="anti")["head"]
    drawn = pl.concat([negatives, _draw_possible(evidence, waiting, salt, number)])
    pairs = positives.rename({"tail": "positive"}).join(drawn.rename({"tail": "negative"}), on="head")
    return pairs.select(*PAIRS_SCHEMA).sort("head")


def _take_turn(drawn: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return one fact of each head: the one whose turn it is in the drawn order."""
    rank = pl.int_range(pl.len()).over("head")
    return drawn.filter(rank == number % pl.len().over("head"))


def _draw_possible(evidence: Evidence, heads: pl.Series, salt: tuple[str, ...], number: int) -> pl.DataFrame:
    """Return the columns head and tail: one of the tails that may be false of the head, if there are any.

    The tails are in an order that is drawn for the relation. Each head starts at a drawn place among its
    possible ones, and successive editions of a series take successive ones.
    """
    facts = evidence.facts
    order = facts.order_tails(*salt, "negative")
    columns = locate(evidence.tails, order)
    starts = combine(*salt, "start", facts.relation, hash_column(heads)).tolist()
    kept, places = [], []
    for row, is_possible in enumerate(evidence.judge(heads).iterate_possible()):
        possible = np.flatnonzero(is_possible[columns])
        if len(possible):
            kept.append(row)
            places.append(int(possible[(starts[row] + number) % len(possible)]))
    return pl.DataFrame({"head": heads.gather(kept), "tail": order.gather(places)})
