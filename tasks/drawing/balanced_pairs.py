"""Balanced negatives: exact assignments in which true and false triplets resemble each other.

Each head needs a true tail and a false one, and every tail must be true as often as it is false. Therefore
the heads of a block are assigned to each other: if head A is assigned to head B, a true tail of A becomes the
negative of B. A head that is assigned to itself is left out. The cost of the assignment is how differently
the tail resembles A and B by its letters, at the true tail of A with the least cost. So for every tail, the
heads for which it is false resemble it as much as the heads for which it is true, as far as the base allows.

The assignment is an exact optimum: as many heads as possible, and then the least cost. All costs are whole
numbers that a double holds exactly, so the result is the same on every machine. Blocks are small, so that
time grows with the number of heads, and memory does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.primitives.mixing import Numbers, combine, hash_column, mix_bits
from tasks.drawing.name_features import Matrix, NameFeatures, Rows
from tasks.drawing.related_names import RelatedNames
from tasks.drawing.relation_facts import PAIR, RelationFacts
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn

MAX_TAILS = 16
"""True tails of a head that are considered, drawn by hash."""
COST_RANGE = 1000
HALF_COST = 120
"""The difference of the features at which a cost is half of its range. Large differences cost nearly the same
as medium ones, so that as many pairs as possible are alike and few are not."""
CHANCE = 100
"""The random part of a cost, at most. Without it, another seed would draw nearly the same triplets."""
TIE_BITS = 12
"""Random bits below the cost: two assignments with the same total are practically impossible."""
ASSERTED = COST_RANGE + CHANCE
"""What is subtracted from the cost of a negative that the base asserts: more than any resemblance costs."""
NOT_DUE = COST_RANGE
"""What a tail costs whose turn in a series it is not: as much as the least possible resemblance."""
LEFT_OUT = 2.0**36
"""The cost of leaving out a head: more than the costs of all other heads together."""
EXCLUDED = 2**40
"""Stands for an infinite cost while costs are whole numbers."""

Flags = NDArray[np.bool_]
PAIRS_SCHEMA = dict.fromkeys(("head", "positive", "negative"), pl.String)


def draw_balanced(
    facts: RelationFacts, blocks: Sequence[pl.Series], seed: int, turn: SeriesTurn | None = None
) -> pl.DataFrame:
    """Return the columns head, positive and negative, for as many heads of each block as can be kept.

    In a series of editions, tails are preferred whose turn it is.
    """
    if not blocks:
        return pl.DataFrame(schema=PAIRS_SCHEMA)
    heads = pl.concat(blocks)
    known = _KnownNames(facts, heads, _order_tails(facts, heads, str(seed), turn))
    salt = (str(seed), facts.relation)
    drawn = [_Assignment(known, block, salt, turn).solve() for block in known.split(blocks)]
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


@dataclass(frozen=True)
class _Block:
    """Heads whose tails are assigned together. Names are positions in `_KnownNames.names`."""

    heads: Rows
    own: Rows
    """The head of each fact that can be a positive, as a position in ``heads``; sorted."""
    tails: Rows
    """The tail of each of these facts."""
    is_due: Flags
    """Whether it is the turn of the fact in a series of editions."""
    is_excluded: Flags
    """One row per fact, one column per head: whether its tail may not be a negative of the head."""
    is_asserted: Flags
    """Likewise: whether the base asserts that it is false."""


class _KnownNames:
    """Some heads, their tails and all that is true of them."""

    def __init__(self, facts: RelationFacts, heads: pl.Series, tested: pl.DataFrame) -> None:
        """Look up the facts.

        Args:
            tested: the facts that can be positives, sorted by head and tail, with the column is_due.
        """
        given = heads.to_frame("head")
        true, tails = facts.list_true(given), tested.select("tail").unique()
        excluded = facts.exclude(true, tails)
        asserted = facts.exclude(facts.list_asserted(given), tails).join(excluded, on=PAIR, how="anti")
        self.names = pl.concat([heads, true["tail"], tails["tail"]]).unique().sort()
        self.numbers = hash_column(self.names)
        self.features = NameFeatures(self.names)
        self._related = RelatedNames(self.names)
        self._is_due = tested["is_due"].to_numpy()
        self._tested, self._true, self._excluded, self._asserted = map(
            self._index, (tested, true, excluded, asserted)
        )

    def _locate(self, names: pl.Series) -> Rows:
        return self.names.search_sorted(names).to_numpy().astype(np.int64)

    def _index(self, pairs: pl.DataFrame) -> Rows:
        """Return one row per pair of a head and a tail: their positions in the names."""
        return np.stack([self._locate(pairs["head"]), self._locate(pairs["tail"])], axis=1)

    def split(self, blocks: Sequence[pl.Series]) -> Iterator[_Block]:
        """Yield what is known of the heads of each block."""
        n_blocks, block_of = len(blocks), np.zeros(len(self.names), np.int64)
        of_blocks = [np.sort(self._locate(heads)) for heads in blocks]
        for number, heads in enumerate(of_blocks):
            block_of[heads] = number
        parts = [
            _partition(pairs, pairs, block_of, n_blocks)
            for pairs in (self._tested, self._true, self._excluded, self._asserted)
        ]
        due = _partition(self._is_due, self._tested, block_of, n_blocks)
        for n, heads in enumerate(of_blocks):
            yield self._build_block(heads, due[n], *(part[n] for part in parts))

    def _build_block(
        self, heads: Rows, is_due: Flags, tested: Rows, true: Rows, excluded: Rows, asserted: Rows
    ) -> _Block:
        tails, fact_tails = np.unique(tested[:, 1], return_inverse=True)
        is_asserted = _mark(heads, tails, asserted)
        true = true[np.argsort(true[:, 0], kind="stable")]
        names, true_names = np.unique(true[:, 1], return_inverse=True)
        is_uncertain = self._related.find(tails, names)[:, true_names]
        # Every head has a true tail, so that every group of columns has one.
        is_related = np.logical_or.reduceat(is_uncertain, np.searchsorted(true[:, 0], heads), axis=1)
        is_excluded = _mark(heads, tails, excluded) | (is_related & ~is_asserted)
        own = np.searchsorted(heads, tested[:, 0])
        return _Block(heads, own, tested[:, 1], is_due, is_excluded[fact_tails], is_asserted[fact_tails])


def _partition(values: NDArray[Any], pairs: Rows, block_of: Rows, n_blocks: int) -> list[NDArray[Any]]:
    """Return the values of each block, in their order; the first column of the pairs has their heads."""
    blocks = block_of[pairs[:, 0]]
    order = np.argsort(blocks, kind="stable")
    return np.split(values[order], np.searchsorted(blocks[order], np.arange(1, n_blocks)))


def _mark(heads: Rows, tails: Rows, pairs: Rows) -> Flags:
    """Return one row per tail and one column per head: whether they are among the pairs."""
    marked = np.zeros((len(tails), len(heads)), bool)
    rows = np.searchsorted(tails, pairs[:, 1])
    is_here = (rows < len(tails)) & (tails[np.minimum(rows, len(tails) - 1)] == pairs[:, 1])
    marked[rows[is_here], np.searchsorted(heads, pairs[is_here, 0])] = True
    return marked


class _Assignment:
    """The assignment of the heads of a block to each other."""

    def __init__(
        self, known: _KnownNames, block: _Block, salt: tuple[str, str], turn: SeriesTurn | None
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


def scale_costs(differences: Matrix) -> Matrix:
    """Return differences of features as costs from 0 to COST_RANGE."""
    return COST_RANGE * differences // (differences + HALF_COST)


def add_chance(costs: Matrix, of_rows: Numbers, of_columns: Numbers) -> NDArray[np.int64]:
    """Return the costs with TIE_BITS more bits and a random part.

    Args:
        of_rows: the hash of each row; the random part depends on it and on the hash of the column.
    """
    random = mix_bits(of_rows[:, None] ^ of_columns[None, :])
    # These 44 bits, as a fraction of their range, become a cost from 0 to CHANCE with TIE_BITS more bits.
    chance = ((random >> np.uint64(20)) * np.uint64(CHANCE)) >> np.uint64(44 - TIE_BITS)
    return (costs.astype(np.int64) << TIE_BITS) + chance.astype(np.int64)
