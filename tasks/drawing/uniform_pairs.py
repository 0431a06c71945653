"""Uniform negatives, as in the papers: any tail of the relation that is not true of the head."""

import polars as pl

from pretexeval.primitives.mixing import combine, hash_column
from tasks.drawing.balanced_pairs import PAIRS_SCHEMA
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import SeriesTurn


def draw_uniform(
    facts: RelationFacts, heads: pl.Series, seed: int, turn: SeriesTurn | None = None
) -> pl.DataFrame:
    """Return the columns head, positive and negative of those heads that have a possible negative.

    Positives are drawn from the true tails of the head, and negatives from those that the base asserts to be
    false of it, or else from all tails that may be false of it. In a series of editions, the tails of both
    kinds take turns.
    """
    given = heads.to_frame("head")
    salt = (str(seed),) if turn is None else ("series", str(turn.seed))
    number = 0 if turn is None else turn.number
    positives = _take_turn(facts.draw(facts.list_tested(given), *salt, "positive"), number)
    asserted = facts.list_false(given, facts.list_true(given))
    negatives = _take_turn(facts.draw(asserted, *salt, "negative"), number)
    waiting = given.join(negatives, on="head", how="anti")
    drawn = pl.concat([negatives, _draw_possible(facts, waiting, salt, number)])
    pairs = positives.rename({"tail": "positive"}).join(drawn.rename({"tail": "negative"}), on="head")
    return pairs.select(*PAIRS_SCHEMA).sort("head")


def list_excluded(facts: RelationFacts, heads: pl.DataFrame, tails: pl.Series) -> pl.DataFrame:
    """Return the heads with the places of the tails that may not be false of them, sorted (excluded).

    Args:
        heads: the column head.
        tails: all tails of the relation, in some order.
    """
    places = tails.to_frame("tail").with_row_index("place")
    excluded = facts.exclude(facts.list_true(heads), tails.to_frame("tail"))
    found = excluded.join(places, on="tail").group_by("head").agg(excluded=pl.col("place").sort())
    return heads.join(found, on="head", how="left", maintain_order="left").with_columns(
        pl.col("excluded").fill_null([])
    )


def _take_turn(drawn: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return one fact of each head: the one whose turn it is in the drawn order."""
    rank = pl.int_range(pl.len()).over("head")
    return drawn.filter(rank == number % pl.len().over("head"))


def _draw_possible(
    facts: RelationFacts, heads: pl.DataFrame, salt: tuple[str, ...], number: int
) -> pl.DataFrame:
    """Return the columns head and tail: one of the tails that may be false of the head, if there are any.

    The tails are in an order that is drawn for the relation. Each head starts at a drawn place among its
    possible ones, and successive editions of a series take successive ones.
    """
    order = facts.order_tails(*salt, "negative")
    listed = list_excluded(facts, heads, order)
    starts = combine(*salt, "start", facts.relation, hash_column(listed["head"]))
    kept, places = [], []
    for (head, excluded), start in zip(listed.iter_rows(), starts.tolist(), strict=True):
        if n_possible := len(order) - len(excluded):
            place = (start + number) % n_possible
            for other in excluded:
                place += other <= place
            kept.append(head)
            places.append(place)
    return pl.DataFrame({"head": pl.Series(kept, dtype=pl.String), "tail": order.gather(places)})
