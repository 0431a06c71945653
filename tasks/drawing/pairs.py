"""Pairs of a true and a false tail of each head, with balanced or with uniform negatives.

Balanced negatives are assignments in which false triplets resemble true ones and are unlikely to be true.
Each head needs a true tail and a false one, and every tail must be true as often as it is false. Therefore
the heads of a block are assigned to each other: if head A is assigned to head B, a true tail of A becomes the
negative of B. The cost is how differently the tail resembles A and B by its letters, plus the chance that it
is true of B, at the true tail of A with the least cost. So for every tail, the heads for which it is false
resemble it as much as the heads for which it is true, as far as the base allows. A head that is assigned to
itself is left out, which has a price.

The assignment is an exact optimum. All costs are whole numbers that a double holds exactly, so the result is
the same on every machine. Blocks are small, so that time grows with the number of heads, and memory does not.

Beyond that, tails of each degree of resemblance are true about as often as false. Otherwise a rule such as
"a tail that shares a word with the head is true" would be right more often than by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.primitives.mixing import Numbers, combine, hash_column, mix_bits
from tasks.drawing.evidence import Evidence, locate
from tasks.drawing.name_features import Matrix, NameFeatures, Rows
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn

MAX_TAILS, MIN_TAILS, CANDIDATES = 16, 2, 32
"""Limits of the number of true tails of a head that are considered: CANDIDATES / n of its n tails, drawn by
hash, at least MIN_TAILS and at most MAX_TAILS. If there were more, the rarest would nearly always be the
cheapest, and the tested facts would not stand for the base."""
COST_RANGE = 1000
HALF_COST = 120
"""The difference of the features at which a cost is half of its range. Large differences cost nearly the same
as medium ones, so that as many pairs as possible are alike and few are not."""
CHANCE = 50
"""The random part of a cost, at most. Without it, another seed would draw nearly the same triplets."""
TIE_BITS = 12
"""Random bits below the cost: two assignments with the same total are practically impossible."""
ASSERTED = COST_RANGE + CHANCE
"""Discount of a negative that the base asserts: more than any resemblance costs."""
NOT_DUE = 10 * COST_RANGE
"""Cost of a tail that is not due in its series: more than resemblance and a chance below 59 % together."""
LEAVING_OUT = (850, 2**30)
"""The prices of leaving out a head. The second one, with which as many heads as possible are kept, is tried
if fewer than MIN_KEPT of the heads of the block are kept with the first one."""
MIN_KEPT = 0.85
MIN_HEADS = 100
"""Number of heads of a block below which only the last price is used and classes are not equalised."""
N_CLASSES = 10
"""Classes of resemblance. The true tails are divided among them about equally."""
N_ROUNDS = 8
STEP = 100
"""Increase of the cost of a class in the next round if all its tails are true."""
EXCLUDED = 2**40
"""Stands for an infinite cost while costs are whole numbers."""

Flags = NDArray[np.bool_]
Costs = NDArray[np.int64]
"""Costs of facts (rows) for heads (columns), with TIE_BITS more bits, times MAX_TAILS."""
PAIRS_SCHEMA = dict.fromkeys(("head", "positive", "negative"), pl.String)


def draw_balanced(
    evidence: Evidence, blocks: Sequence[pl.Series], seed: int, turn: SeriesTurn | None = None
) -> pl.DataFrame:
    """Return the columns head, positive and negative, for the heads of each block that are kept.

    In a series of editions, tails that are due are preferred.
    """
    facts, heads = evidence.facts, pl.concat(blocks)
    known = _KnownNames(evidence, heads, _order_tails(facts, heads, str(seed), turn))
    salt = (str(seed), facts.relation)
    drawn = [_Assignment(known, known.select(block), salt, turn).solve() for block in blocks]
    positions = np.concatenate(drawn)
    columns = (known.names.gather(positions[:, k]) for k in range(3))
    return pl.DataFrame(dict(zip(PAIRS_SCHEMA, columns, strict=True))).sort("head")


def _order_tails(facts: RelationFacts, heads: pl.Series, seed: str, turn: SeriesTurn | None) -> pl.DataFrame:
    """Return the facts of each head that are considered, and whether each is due in its series (is_due)."""
    salt = (seed, "tails") if turn is None else ("series", str(turn.seed), "tails")
    drawn = facts.draw(facts.list_tested(heads.to_frame("head")), *salt)
    number = 0 if turn is None else turn.number
    n_tails = pl.len().over("head")
    rank = (pl.int_range(pl.len()).over("head") - number) % n_tails
    n_considered = (CANDIDATES // n_tails).clip(MIN_TAILS, MAX_TAILS)
    kept = drawn.with_columns(rank=rank, n=n_considered).filter(pl.col("rank") < pl.col("n"))
    return kept.select("head", "tail", is_due=pl.col("rank") == 0).sort("head", "tail")


@dataclass(frozen=True)
class _Block:
    """Heads whose tails are assigned together. Names are positions in `_KnownNames.names`.

    The matrices have one row per fact that can be a positive, and one column per head.
    """

    heads: Rows
    own: Rows
    """The head of each fact that can be a positive, as a position in ``heads``; sorted."""
    tails: Rows
    """The tail of each of these facts."""
    is_due: Flags
    """True for each fact that is due in a series of editions."""
    is_excluded: Flags
    """Matrix: true where the tail may not be a negative of the head."""
    is_asserted: Flags
    """Matrix: true where the base asserts that the tail is false of the head."""
    chances: NDArray[np.int64]
    """Matrix: the chance that the tail is true of the head, in ten-thousandths."""

    @cached_property
    def starts(self) -> Rows:
        """The first fact of each head."""
        first: Rows = np.flatnonzero(np.diff(self.own, prepend=-1))
        return first


class _KnownNames:
    """Some heads, their tails and all that is known of them."""

    def __init__(self, evidence: Evidence, heads: pl.Series, tested: pl.DataFrame) -> None:
        """Look up the facts.

        Args:
            tested: the facts that can be positives, sorted by head and tail, with the column is_due.
        """
        self._heads, self._tails = heads.sort(), evidence.tails
        self._judged = evidence.judge(self._heads)
        self.names = pl.concat([heads, tested["tail"]]).unique().sort()
        self.numbers = hash_column(self.names)
        self.features = NameFeatures(self.names)
        self._own = locate(self._heads, tested["head"])
        self._columns = locate(self._tails, tested["tail"])
        self._is_due = tested["is_due"].to_numpy()

    def select(self, heads: pl.Series) -> _Block:
        """Return what is known of the heads of a block."""
        heads = heads.sort()
        rows = locate(self._heads, heads)
        starts, ends = np.searchsorted(self._own, rows), np.searchsorted(self._own, rows, side="right")
        own = np.repeat(np.arange(len(rows)), ends - starts)
        facts = np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)])
        columns, of_facts = np.unique(self._columns[facts], return_inverse=True)
        is_excluded, is_asserted, chances = self._judged.judge_pairs(rows, columns)
        return _Block(
            locate(self.names, heads),
            own,
            locate(self.names, self._tails.gather(columns))[of_facts],
            self._is_due[facts],
            is_excluded.T[of_facts],
            is_asserted.T[of_facts],
            chances.T[of_facts],
        )


class _Assignment:
    """The assignment of the heads of a block to each other."""

    def __init__(
        self, known: _KnownNames, block: _Block, salt: tuple[str, str], turn: SeriesTurn | None
    ) -> None:
        self.known, self.block, self.salt, self.turn = known, block, salt, turn

    def solve(self) -> Rows:
        """Return the positions of head, positive and negative tail: one row per head that is kept."""
        alike, costs = self._find_costs()
        if len(self.block.heads) < MIN_HEADS:
            facts, takers = self._assign(costs, LEAVING_OUT[-1])
        else:
            facts, takers = self._assign_equally(alike, costs)
        heads, tails = self.block.own[facts], self.block.tails[facts]
        negatives = np.empty(len(self.block.heads), np.int64)
        negatives[takers] = tails
        pairs: Rows = np.stack([self.block.heads[heads], tails, negatives[heads]], axis=1)
        return pairs

    def _assign_equally(self, alike: Matrix, costs: Costs) -> tuple[Rows, Rows]:
        """Return an assignment in which classes of resemblance are true about as often as false.

        A class that is true too often becomes dearer for positives and cheaper for negatives, round by round.
        These are steps of a subgradient method for the Lagrangian dual of an assignment with the constraint
        that classes are equal (Fisher 1981). The round with the smallest differences is returned.
        """
        block = self.block
        # Many heads leave a choice, so a chance costs half as much again.
        costs = costs + ((block.chances // 2 * ~block.is_asserted) * MAX_TAILS << TIE_BITS)
        for price in LEAVING_OUT:
            assigned = self._assign(costs, price)
            if len(assigned[0]) >= MIN_KEPT * len(block.heads):
                break
        of_own = alike[np.arange(len(block.own)), block.own]
        edges = np.unique(np.quantile(of_own, np.arange(1, N_CLASSES) / N_CLASSES, method="nearest"))
        own, classes = (np.searchsorted(edges, sums, side="right") for sums in (of_own, alike))
        fees = np.zeros(len(edges) + 1, np.int64)
        assignments = []
        while True:
            n_pairs = max(len(assigned[0]), 1)
            true, false = (
                np.bincount(drawn, minlength=len(fees)) for drawn in (own[assigned[0]], classes[assigned])
            )
            assignments.append((np.abs(true - false).sum() / n_pairs, assigned))
            if len(assignments) == N_ROUNDS:
                return min(assignments, key=lambda assignment: assignment[0])[1]
            fees += STEP * (true - false) // n_pairs
            charged = (fees[own][:, None] - fees[classes]) * MAX_TAILS << TIE_BITS
            assigned = self._assign(costs + charged, price)

    def _assign(self, costs: Costs, price: int) -> tuple[Rows, Rows]:
        """Return the cheapest assignment: the positions of the facts that are used, and of their takers.

        Args:
            costs: one row per fact, one column per head.
            price: what leaving out a head costs.
        """
        # The import takes 0.3 s, and most commands draw nothing.
        from scipy.optimize import linear_sum_assignment

        starts = self.block.starts
        least, rank = np.divmod(np.minimum.reduceat(costs, starts, axis=0), MAX_TAILS)
        of_heads = np.where(least >= EXCLUDED // 2, np.inf, least)
        of_turn = 0 if self.turn is None else 2 * NOT_DUE
        np.fill_diagonal(of_heads, (price + of_turn) << TIE_BITS)
        givers, takers = linear_sum_assignment(of_heads)
        is_kept = givers != takers
        return (starts[givers] + rank[givers, takers])[is_kept], takers[is_kept]

    def _find_costs(self) -> tuple[Matrix, Costs]:
        """Return how much the tails of the facts resemble the heads, and the costs.

        The lowest digit of a cost is the number of the fact among those of its head.
        """
        block, numbers = self.block, self.known.numbers
        of_heads, of_tails = numbers[block.heads], numbers[block.tails]
        alike, difference = self.known.features.compare_heads(block.heads, block.own, block.tails)
        chances = combine(*self.salt, "fact", of_heads[block.own], of_tails)
        costs = add_chance(scale_costs(difference), chances, combine(*self.salt, "head", of_heads))
        # A ten-thousandth of chance costs 1.
        costs += (block.chances * ~block.is_asserted) << TIE_BITS
        costs[block.is_asserted] -= ASSERTED << TIE_BITS
        if self.turn is not None:
            costs += self._price_repeats(self.turn) * ~block.is_asserted << TIE_BITS
        costs = costs * MAX_TAILS + (np.arange(len(block.own)) - block.starts[block.own])[:, None]
        costs[block.is_excluded] = EXCLUDED * MAX_TAILS
        return alike, costs

    def _price_repeats(self, turn: SeriesTurn) -> NDArray[np.int64]:
        """Return the costs of tails that are not due in the series: one row per fact, one column per head."""
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


def draw_uniform(evidence: Evidence, heads: pl.Series, seed: int, turn: SeriesTurn | None) -> pl.DataFrame:
    """Return the columns head, positive and negative of those heads that have a possible negative.

    The negatives are uniform, as in the papers. Positives are drawn from the true tails of the head, and
    negatives from those that the base asserts to be false of it, or else from all tails that may be false of
    it. In a series of editions, the tails of both kinds take turns.
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
