"""Balanced negatives: an exact assignment in which true and false triplets resemble each other.

Each head needs a true tail and a false one, and every tail must be true as often as it is false. Therefore
the heads are assigned to each other: if head A is assigned to head B, a true tail of A becomes the negative
of B. A head that is assigned to itself is left out. The cost of the assignment is how differently the tail
resembles A and B by its letters, at the true tail of A with the least cost. So for every tail, the heads for
which it is false resemble it as much as the heads for which it is true, as far as the base allows.

The assignment is an exact optimum: as many heads as possible, and then the least cost. All costs are whole
numbers that a double holds exactly, so the result is the same on every machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from primitives.hashing import draw_order, hash_text
from primitives.mixing import mix_bits
from tasks.drawing.candidates import Candidates, Head
from tasks.drawing.name_overlap import NameOverlap
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn

# Time grows with the third power of the number of heads: 1,000 heads take 1 s, 2,000 take 6 s.
MAX_HEADS = 2000
"""Heads that are assigned together. A larger relation is split into parts, each balanced by itself."""
MAX_TAILS = 16
"""True tails of a head that are considered, drawn by hash."""
HEADS_AT_ONCE = 250
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


def draw_balanced(
    candidates: Candidates, salt: str, turn: SeriesTurn | None = None
) -> dict[str, tuple[str, str]]:
    """Return head -> (positive tail, negative tail), for as many heads as can be kept.

    The positive tails and the negative tails are the same multiset. Heads that had to be left out are absent.
    In a series of editions, tails are preferred whose turn it is.
    """
    heads = {head.name: head for head in candidates.heads}
    order = draw_order(heads, salt, candidates.relation, "order")
    n_parts = -(-len(order) // MAX_HEADS)
    pairs: dict[str, tuple[str, str]] = {}
    for part in range(n_parts):
        members = [heads[name] for name in sorted(order[part::n_parts])]
        pairs |= _Assignment(members, (salt, candidates.relation), turn).solve()
    return pairs


@dataclass(frozen=True)
class _Facts:
    """The true triplets of some heads: rows of their heads, columns of their tails, and random numbers."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    chances: NDArray[np.uint64]


class _Assignment:
    def __init__(self, heads: Sequence[Head], salt: tuple[str, str], turn: SeriesTurn | None) -> None:
        self.heads = heads
        self.salt = salt
        self.turn = turn
        orders = [self._order_tails(head) for head in heads]
        self.due = [order[0] for order in orders]
        self.positives = [sorted(order[:MAX_TAILS]) for order in orders]
        self.tails = sorted({tail for tails in self.positives for tail in tails})
        self.column_of = {tail: column for column, tail in enumerate(self.tails)}
        self.overlap = NameOverlap([head.name for head in heads], self.tails)
        self.is_excluded = self._mark_tails([head.excluded for head in heads])
        self.is_asserted = self._mark_tails([head.asserted for head in heads])
        self.chances = hash_all((*salt, "head", head.name) for head in heads)

    def _order_tails(self, head: Head) -> list[str]:
        """Return the true tails in a drawn order; in a series, the first one is due."""
        if self.turn is None:
            return draw_order(head.tails, *self.salt, "tails", head.name)
        return self.turn.rotate(head.tails, self.salt[1], "tails", head.name)

    def _mark_tails(self, marked: Sequence[frozenset[str]]) -> NDArray[np.bool_]:
        """Return one row per head and one column per tail: whether the tail is among those of the head."""
        matrix = np.zeros((len(marked), len(self.tails)), bool)
        for row, names in enumerate(marked):
            matrix[row, [self.column_of[name] for name in names if name in self.column_of]] = True
        return matrix

    def solve(self) -> dict[str, tuple[str, str]]:
        """Return head -> (positive tail, negative tail)."""
        # The import takes 0.3 s, and most commands draw nothing.
        from scipy.optimize import linear_sum_assignment

        n_heads = len(self.heads)
        costs = np.full((n_heads, n_heads), np.inf)
        tails = np.zeros((n_heads, n_heads), np.int64)
        for start in range(0, n_heads, HEADS_AT_ONCE):
            rows = slice(start, min(start + HEADS_AT_ONCE, n_heads))
            costs[rows], tails[rows] = self._find_cheapest(rows)
        np.fill_diagonal(costs, LEFT_OUT)
        givers, takers = linear_sum_assignment(costs)
        kept = [(giver, taker) for giver, taker in zip(givers, takers, strict=True) if giver != taker]
        positive = {giver: self.tails[tails[giver, taker]] for giver, taker in kept}
        negative = {taker: self.tails[tails[giver, taker]] for giver, taker in kept}
        return {self.heads[row].name: (positive[row], negative[row]) for row in sorted(positive)}

    def _find_cheapest(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return for the given heads (rows) and all heads (columns) the least cost, and its tail."""
        facts = self._list_facts(rows)
        difference = self.overlap.compare_heads(facts.heads, facts.tails)
        starts = np.flatnonzero(np.diff(facts.heads, prepend=-1))
        ranks = np.arange(len(facts.heads)) - np.repeat(starts, np.diff(np.append(starts, len(facts.heads))))
        costs = add_chance(scale_costs(difference), facts.chances, self.chances)
        is_asserted = self.is_asserted.T[facts.tails]
        costs[is_asserted] -= ASSERTED << TIE_BITS
        if self.turn is not None:
            costs += self._price_repeats(facts, self.turn) * ~is_asserted << TIE_BITS
        # The lowest digit says which of the head's true tails has the cost.
        costs = costs * MAX_TAILS + ranks[:, None]
        costs[self.is_excluded.T[facts.tails]] = EXCLUDED * MAX_TAILS
        least, rank = np.divmod(np.minimum.reduceat(costs, starts, axis=0), MAX_TAILS)
        return np.where(least == EXCLUDED, np.inf, least), facts.tails[starts[:, None] + rank]

    def _price_repeats(self, facts: _Facts, turn: SeriesTurn) -> NDArray[np.int64]:
        """Return for the facts (rows) and all heads (columns) what tails cost whose turn it is not.

        Whose turn it is: of a fact, as the positive of its head; of its tail, as the negative of the column.
        """
        columns_due = np.array([self.column_of[tail] for tail in self.due])
        is_due = facts.tails == columns_due[facts.heads]
        salt = ("series", str(turn.seed), self.salt[1], "negative")
        of_tails = hash_all((*salt, "tail", tail) for tail in self.tails)
        of_heads = hash_all((*salt, "head", head.name) for head in self.heads)
        turns = mix_bits(of_tails[facts.tails][:, None] ^ of_heads[None, :]) % np.uint64(NEGATIVE_TURNS)
        is_negative_due = turns == turn.number % NEGATIVE_TURNS
        n_due = is_due[:, None].astype(np.int64) + is_negative_due
        prices: NDArray[np.int64] = NOT_DUE * (2 - n_due)
        return prices

    def _list_facts(self, rows: slice) -> _Facts:
        listed = [(row, tail) for row in range(rows.start, rows.stop) for tail in self.positives[row]]
        names = ((*self.salt, "fact", self.heads[row].name, tail) for row, tail in listed)
        return _Facts(
            np.array([row for row, _ in listed]),
            np.array([self.column_of[tail] for _, tail in listed]),
            hash_all(names),
        )


def scale_costs(differences: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return differences of features as costs from 0 to COST_RANGE."""
    return COST_RANGE * differences // (differences + HALF_COST)


def add_chance(
    costs: NDArray[np.int32], of_rows: NDArray[np.uint64], of_columns: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the costs with TIE_BITS more bits and a random part.

    Args:
        of_rows: the hash of each row; the random part depends on it and on the hash of the column.
    """
    random = mix_bits(of_rows[:, None] ^ of_columns[None, :])
    # These 44 bits, as a fraction of their range, become a cost from 0 to CHANCE with TIE_BITS more bits.
    chance = ((random >> np.uint64(20)) * np.uint64(CHANCE)) >> np.uint64(44 - TIE_BITS)
    return (costs.astype(np.int64) << TIE_BITS) + chance.astype(np.int64)


def hash_all(keys: Iterator[tuple[str, ...]]) -> NDArray[np.uint64]:
    """Return the hash of each key as a number."""
    return np.array([int(hash_text(*key), 16) for key in keys], np.uint64)
