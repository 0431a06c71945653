"""Balanced wrong options: exact assignments of the right options of some heads to others, as wrong ones.

`draw_balanced` gives every head one wrong tail. A question needs up to three, and every tail should be wrong
in a fixed ratio to how often it is right. Its right occurrences are therefore repeated in that ratio, and
assigned to heads in several rounds. As in `draw_balanced`, the cost of giving a tail to a head is how
differently the tail resembles that head and the head of which it is true, each round is an exact optimum (as
many heads as possible, then the least cost), and all costs are whole numbers.

A tail that is true of many heads cannot be wrong often enough. The heads for which no repeated tail is left
get the tails that have been wrong the fewest times for their right occurrences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.primitives.hashing import draw_order
from pretexeval.primitives.mixing import combine, hash_names
from tasks.drawing.name_features import Matrix, NameFeatures, Rows
from tasks.drawing.pairs import ASSERTED, COST_RANGE, TIE_BITS, add_chance, scale_costs
from tasks.drawing.relation_facts import SameNames

MAX_HEADS = 2000
"""Heads that share their tails. Time grows with the third power of them: 1,000 take 1 s, 2,000 take 6 s."""
FACTS_AT_ONCE = 250
LEFT_OUT = 2.0**36
"""The cost of giving a tail to a head that must not get it: more than all other costs together."""
PRIORITY = COST_RANGE << TIE_BITS
"""Discount of a tail that was left over in an earlier round: such tails are hard to give, so they are given
as soon as it is possible."""


@dataclass(frozen=True)
class Taker:
    """A head that gets wrong tails."""

    name: str
    right: tuple[str, ...]
    """The right options of its question."""
    wrong: tuple[str, ...]
    """The wrong options that it already has."""
    n_wrong: int
    """Number of wrong options that it needs, with those that it already has."""
    forbidden: frozenset[str]
    """The tails that may not be wrong options of it, besides those that are the same as its other options."""
    asserted: frozenset[str]
    """The tails that the base asserts to be false of it; they are preferred."""


def share_tails(takers: Sequence[Taker], same: SameNames, *salt: str) -> dict[str, tuple[str, ...]]:
    """Return head -> its wrong options: those that it had, then those that it was given.

    Only right options of other heads are given. A head that may not have enough of them gets fewer than it
    needs. More than 2,000 heads are split into parts, each of which shares its own tails.
    """
    by_name = {taker.name: taker for taker in takers}
    order = draw_order(by_name, *salt, "order")
    n_parts = -(-len(order) // MAX_HEADS)
    wrong: dict[str, tuple[str, ...]] = {}
    for part in range(n_parts):
        sharing = _Sharing([by_name[name] for name in sorted(order[part::n_parts])], same, salt)
        sharing.assign_slots()
        sharing.fill_gaps()
        wrong |= {taker.name: tuple(sharing.wrong[row]) for row, taker in enumerate(sharing.takers)}
    return wrong


class _Sharing:
    def __init__(self, takers: Sequence[Taker], same: SameNames, salt: tuple[str, ...]) -> None:
        self.takers = takers
        self.same = same
        self.salt = salt
        # Of two tails that have been wrong equally often, the first in this order fills a gap.
        self.tails = draw_order({tail for taker in takers for tail in taker.right}, *salt, "tails")
        self.column_of = {tail: column for column, tail in enumerate(self.tails)}
        self.numbers_of_heads = hash_names(taker.name for taker in takers)
        self.numbers_of_tails = hash_names(self.tails)
        self.facts = [(row, self.column_of[tail]) for row, taker in enumerate(takers) for tail in taker.right]
        self.n_right = np.bincount([column for _, column in self.facts], minlength=len(self.tails))
        self.n_wrong = np.zeros(len(self.tails), np.int64)
        self.wrong: list[list[str]] = [[] for _ in takers]
        self.is_forbidden = self._mark([taker.forbidden for taker in takers])
        self.is_asserted = self._mark([taker.asserted for taker in takers])
        for row, taker in enumerate(takers):
            self._forbid(row, taker.right)
            for tail in taker.wrong:
                self._take(row, tail)

    def _mark(self, marked: Sequence[frozenset[str]]) -> NDArray[np.bool_]:
        """Return one row per taker and one column per tail: whether the tail is among those of the taker."""
        matrix = np.zeros((len(marked), len(self.tails)), bool)
        for row, names in enumerate(marked):
            matrix[row, [self.column_of[name] for name in names if name in self.column_of]] = True
        return matrix

    def _forbid(self, row: int, tails: Sequence[str]) -> None:
        same = self.same.list_same(tails)
        self.is_forbidden[row, [self.column_of[name] for name in same if name in self.column_of]] = True

    def _take(self, row: int, tail: str) -> None:
        self.wrong[row].append(tail)
        self._forbid(row, [tail])
        if tail in self.column_of:
            self.n_wrong[self.column_of[tail]] += 1

    def _count_missing(self) -> NDArray[np.int64]:
        """Return how many wrong options each taker still needs."""
        missing = [taker.n_wrong - len(wrong) for taker, wrong in zip(self.takers, self.wrong, strict=True)]
        return np.array(missing, np.int64)

    def assign_slots(self) -> None:
        """Assign the repeated right options to the takers, one to each in every round."""
        missing = self._count_missing()
        waiting = self._list_slots(int(missing.sum()))
        if not waiting:
            return
        costs = self._measure_costs()
        left_over: list[int] = []
        for n_before in range(missing.max()):
            rows = np.flatnonzero(missing > n_before)
            offered, waiting = left_over + waiting[: len(rows)], waiting[len(rows) :]
            given = self._solve(rows, offered, len(left_over), costs, str(n_before))
            for row, slot in given.items():
                self._take(row, self.tails[self.facts[offered[slot]][1]])
            left_over = [fact for slot, fact in enumerate(offered) if slot not in set(given.values())]

    def _list_slots(self, n_slots: int) -> list[int]:
        """Return facts, repeated as often as their tails should still be wrong options, in even order."""
        n_wanted = sum(taker.n_wrong for taker in self.takers)
        # Whole numbers: how often the tail should still be wrong, times the number of facts.
        wanted = np.maximum(n_wanted * self.n_right - len(self.facts) * self.n_wrong, 0)
        if not n_slots or not wanted.any():
            return []
        n_of_tail, remainders = np.divmod(wanted * n_slots, wanted.sum())
        # The largest remainders are rounded up; equal ones are in the order of the tails, which was drawn.
        n_of_tail[np.argsort(-remainders, kind="stable")[: n_slots - n_of_tail.sum()]] += 1
        by_name = {self._name_fact(fact): fact for fact in range(len(self.facts))}
        facts_of_tail: list[list[int]] = [[] for _ in self.tails]
        for name in draw_order(by_name, *self.salt, "slots"):
            facts_of_tail[self.facts[by_name[name]][1]].append(by_name[name])
        slots = [
            (copy // len(facts), facts[copy % len(facts)])
            for facts, count in zip(facts_of_tail, n_of_tail, strict=True)
            for copy in range(count)
        ]
        return [fact for _, fact in sorted(slots)]

    def _name_fact(self, fact: int) -> str:
        row, column = self.facts[fact]
        return f"{self.takers[row].name}\x1f{self.tails[column]}"

    def _measure_costs(self) -> Matrix:
        """Return one row per fact and one column per taker: the cost of giving it the fact's tail."""
        given = pl.Series([taker.name for taker in self.takers]), pl.Series(self.tails)
        names = pl.concat(given).unique().sort()
        features = NameFeatures(names)
        heads, tails = (names.search_sorted(column).to_numpy().astype(np.int64) for column in given)
        own, columns = np.array(self.facts).T
        starts = range(0, len(own), FACTS_AT_ONCE)
        parts = (slice(start, start + FACTS_AT_ONCE) for start in starts)
        return np.concatenate(
            [scale_costs(features.compare_heads(heads, own[part], tails[columns[part]])[1]) for part in parts]
        )

    def _solve(
        self,
        rows: Rows,
        offered: Sequence[int],
        n_left_over: int,
        costs: Matrix,
        round_name: str,
    ) -> Mapping[int, int]:
        """Return row of a taker -> index of the offered slot that it gets, for as many as possible."""
        # The import takes 0.3 s, and most commands draw nothing.
        from scipy.optimize import linear_sum_assignment

        own, columns = np.array([self.facts[fact] for fact in offered]).T
        of_facts = self.numbers_of_heads[own], self.numbers_of_tails[columns]
        of_slots = combine(*self.salt, round_name, np.arange(len(offered), dtype=np.uint64), *of_facts)
        of_takers = combine(*self.salt, "head", self.numbers_of_heads[rows])
        total = add_chance(costs[np.array(offered)][:, rows], of_slots, of_takers)
        total[self.is_asserted[np.ix_(rows, columns)].T] -= ASSERTED << TIE_BITS
        total[:n_left_over] -= PRIORITY
        is_forbidden = self.is_forbidden[np.ix_(rows, columns)].T
        slots, takers = linear_sum_assignment(np.where(is_forbidden, LEFT_OUT, total))
        return {
            int(rows[taker]): int(slot)
            for slot, taker in zip(slots, takers, strict=True)
            if not is_forbidden[slot, taker]
        }

    def fill_gaps(self) -> None:
        """Give the takers that still need wrong options the tails that have been wrong the fewest times."""
        missing = self._count_missing()
        rows = {self.takers[row].name: int(row) for row in np.flatnonzero(missing)}
        for name in draw_order(rows, *self.salt, "gaps"):
            row = rows[name]
            for _ in range(missing[row]):
                ratios = np.where(self.is_forbidden[row], np.inf, (self.n_wrong + 1) / self.n_right)
                if not np.isfinite(ratios).any():
                    break
                self._take(row, self.tails[int(ratios.argmin())])
