"""Balanced pairs of editions of format 2: exact assignments within blocks of heads.

It is the assignment of `balanced_pairs`, with the same guarantees: positives and negatives are the same
multiset of tails, and as few heads as possible of a block are left out, at the least cost. Blocks are small,
so that time grows with the number of heads, and memory does not.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.mixing import combine, mix_bits
from tasks.drawing.balanced_pairs import (
    ASSERTED,
    EXCLUDED,
    LEFT_OUT,
    MAX_TAILS,
    NOT_DUE,
    TIE_BITS,
    add_chance,
    scale_costs,
)
from tasks.drawing.known_names import Block, KnownNames
from tasks.drawing.name_features import Rows
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn

PAIRS_SCHEMA = dict.fromkeys(("head", "positive", "negative"), pl.String)


def draw_blocks(
    facts: RelationFacts, blocks: Sequence[pl.Series], seed: int, turn: SeriesTurn | None = None
) -> pl.DataFrame:
    """Return the columns head, positive and negative, for as many heads of each block as can be kept.

    In a series of editions, tails are preferred whose turn it is.
    """
    if not blocks:
        return pl.DataFrame(schema=PAIRS_SCHEMA)
    heads = pl.concat(blocks)
    known = KnownNames(facts, heads, _order_tails(facts, heads, str(seed), turn))
    salt = (str(seed), facts.relation)
    drawn = [_BlockAssignment(known, block, salt, turn).solve() for block in known.split(blocks)]
    positions = np.concatenate(drawn)
    columns = (known.names.gather(positions[:, k]) for k in range(3))
    return pl.DataFrame(dict(zip(PAIRS_SCHEMA, columns, strict=True))).sort("head")


def _order_tails(facts: RelationFacts, heads: pl.Series, seed: str, turn: SeriesTurn | None) -> pl.DataFrame:
    """Return at most MAX_TAILS facts of each head, and whether the fact is due in its series (is_due)."""
    salt = (seed, "tails") if turn is None else ("series", str(turn.seed), "tails")
    drawn = facts.draw(facts.list_tested(heads.to_frame("head")), *salt)
    number = 0 if turn is None else turn.number
    rank = (pl.int_range(pl.len()).over("head") - number) % pl.len().over("head")
    kept = drawn.with_columns(rank=rank).filter(pl.col("rank") < MAX_TAILS)
    return kept.select("head", "tail", is_due=pl.col("rank") == 0).sort("head", "tail")


class _BlockAssignment:
    """The assignment of the heads of a block to each other; see `balanced_pairs`."""

    def __init__(
        self, known: KnownNames, block: Block, salt: tuple[str, str], turn: SeriesTurn | None
    ) -> None:
        self.known, self.block, self.salt, self.turn = known, block, salt, turn

    def solve(self) -> Rows:
        """Return the positions of head, positive and negative tail: one row per head that is kept."""
        # The import takes 0.3 s, and most commands draw nothing.
        from scipy.optimize import linear_sum_assignment

        costs, tails = self._find_cheapest()
        np.fill_diagonal(costs, LEFT_OUT)
        givers, takers = linear_sum_assignment(costs)
        is_kept = givers != takers
        negatives = np.empty(len(takers), np.int64)
        negatives[takers] = tails[givers, takers]
        pairs = np.stack([self.block.heads, tails[givers, takers], negatives], axis=1)
        kept: Rows = pairs[is_kept]
        return kept

    def _find_cheapest(self) -> tuple[NDArray[np.float64], Rows]:
        """Return for the facts of each head (rows) and all heads (columns) the least cost, and its tail."""
        block, numbers = self.block, self.known.numbers
        of_heads, of_tails = numbers[block.heads], numbers[block.tails]
        difference = self.known.features.compare_heads(block.heads, block.own, block.tails)
        chances = combine(*self.salt, "fact", of_heads[block.own], of_tails)
        costs = add_chance(scale_costs(difference), chances, combine(*self.salt, "head", of_heads))
        costs[block.is_asserted] -= ASSERTED << TIE_BITS
        if self.turn is not None:
            costs += self._price_repeats(self.turn) * ~block.is_asserted << TIE_BITS
        starts = np.flatnonzero(np.diff(block.own, prepend=-1))
        ranks = np.arange(len(block.own)) - starts[block.own]
        # The lowest digit says which of the head's true tails has the cost.
        costs = costs * MAX_TAILS + ranks[:, None]
        costs[block.is_excluded] = EXCLUDED * MAX_TAILS
        least, rank = np.divmod(np.minimum.reduceat(costs, starts, axis=0), MAX_TAILS)
        return np.where(least == EXCLUDED, np.inf, least), block.tails[starts[:, None] + rank]

    def _price_repeats(self, turn: SeriesTurn) -> NDArray[np.int64]:
        """Return for the facts (rows) and all heads (columns) what tails cost whose turn it is not."""
        block, numbers = self.block, self.known.numbers
        salt = ("series", str(turn.seed), self.salt[1], "negative")
        of_tails = combine(*salt, "tail", numbers[block.tails])
        of_heads = combine(*salt, "head", numbers[block.heads])
        turns = mix_bits(of_tails[:, None] ^ of_heads[None, :]) % np.uint64(NEGATIVE_TURNS)
        n_due = block.is_due[:, None].astype(np.int64) + (turns == turn.number % NEGATIVE_TURNS)
        prices: NDArray[np.int64] = NOT_DUE * (2 - n_due)
        return prices
