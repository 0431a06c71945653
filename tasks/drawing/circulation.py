"""Matched negatives: positives and negatives of a relation drawn together, as a circulation.

Each pair is an arrow from its positive tail to its negative one, and every tail has as many arrows out as in.
No statistic of the tail alone therefore distinguishes positive triplets from negative ones. An exact program
takes minutes on MedLAMA. This module draws pairs at random, drops those that do not balance, and restores
heads along alternating paths. The tests compare the result with the exact program.
"""

from collections import Counter, defaultdict, deque
from dataclasses import dataclass

from primitives.hashing import draw_order, hash_text
from tasks.drawing.candidates import Candidates
from tasks.drawing.series import SeriesTurn, draw_due


def draw_circulation(
    candidates: Candidates, salt: str, turn: SeriesTurn | None = None
) -> dict[str, tuple[str, str]]:
    """Return head -> (positive tail, negative tail), for as many heads as can be kept.

    The positive tails and the negative tails are the same multiset. Heads that had to be left out are absent.
    In a series of editions, true tails are preferred whose turn it is; negatives take no turns.
    """
    circulation = _Circulation(candidates, salt, turn)
    circulation.assign_negatives()
    circulation.drop_unbalanced()
    circulation.restore_heads()
    return {name: (circulation.positive[name], tail) for name, tail in circulation.negative.items()}


@dataclass(frozen=True)
class _Step:
    """A step of an alternating path: which end of which head changes to move imbalance from ``source``."""

    source: str
    head: str
    end: str  # "positive", "negative", or "both" for a head that is restored


class _Circulation:
    def __init__(self, candidates: Candidates, salt: str, turn: SeriesTurn | None) -> None:
        self.salt = (salt, candidates.relation)
        heads = {h.name: h for h in candidates.heads}
        self.heads = {name: heads[name] for name in draw_order(heads, *self.salt, "order")}
        self.tails = candidates.pool
        self.positive = {
            name: draw_due(turn, head.tails, *self.salt, "positive", name)
            for name, head in self.heads.items()
        }
        self.negative: dict[str, str] = {}
        # Tail -> the heads that have it as their positive (givers) or as their negative (takers), in order.
        self.givers: dict[str, dict[str, None]] = defaultdict(dict)
        self.takers: dict[str, dict[str, None]] = defaultdict(dict)

    def assign_negatives(self) -> None:
        """Assign the positive tails as negatives, beginning with the tail that the fewest heads can take."""
        n_excluded = Counter(tail for head in self.heads.values() for tail in head.excluded)
        n_slots = Counter(self.positive.values())
        waiting = list(self.heads)
        for tail in sorted(n_slots, key=lambda t: (-n_excluded[t], hash_text(*self.salt, t))):
            start = int(hash_text(*self.salt, "start", tail), 16) % max(len(waiting), 1)
            taken: list[str] = []
            for name in waiting[start:] + waiting[:start]:
                if len(taken) == n_slots[tail]:
                    break
                if tail not in self.heads[name].excluded:
                    taken.append(name)
            for name in taken:
                self._set_pair(name, self.positive[name], tail)
                waiting.remove(name)

    def drop_unbalanced(self) -> None:
        """Remove heads until every tail is a positive as often as it is a negative."""
        pending = deque(self.tails)
        while pending:
            tail = pending.popleft()
            givers, takers = self.givers[tail], self.takers[tail]
            while len(givers) != len(takers):
                name = next(reversed(givers if len(givers) > len(takers) else takers))
                pending.extend((self.positive[name], self.negative[name]))
                self._remove_pair(name)

    def restore_heads(self) -> None:
        """Restore removed heads wherever other heads can change their tails to keep the balance."""
        is_changed = True
        while is_changed:
            is_changed = False
            for name in self.heads:
                if name not in self.negative and self._restore_head(name):
                    is_changed = True

    def _restore_head(self, name: str) -> bool:
        """Search a path of changes from a true tail of ``name`` to a tail that can be its negative."""
        head = self.heads[name]
        came_from: dict[str, _Step | None] = dict.fromkeys(head.tails)
        left_out = {n: None for n in self.heads if n not in self.negative and n != name}
        queue = deque(head.tails)
        while queue:
            tail = queue.popleft()
            if tail not in head.excluded:
                positive = self._change_along(tail, came_from)
                self._set_pair(name, positive, tail)
                return True
            for other, step in self._steps_from(tail, came_from, left_out):
                came_from[other] = step
                queue.append(other)
        return False

    def _steps_from(
        self, tail: str, seen: dict[str, _Step | None], left_out: dict[str, None]
    ) -> list[tuple[str, _Step]]:
        found: dict[str, _Step] = {}
        for name in self.givers[tail]:
            for other in self.heads[name].tails:
                if other not in seen:
                    found.setdefault(other, _Step(tail, name, "positive"))
        for other in self.tails:
            if other not in seen and other not in found:
                for name in self.takers[other]:
                    if tail not in self.heads[name].excluded:
                        found[other] = _Step(tail, name, "negative")
                        break
        for name in [n for n in left_out if tail not in self.heads[n].excluded]:
            # All its tails count as seen from here on, so no path restores it twice.
            del left_out[name]
            for other in self.heads[name].tails:
                if other not in seen:
                    found.setdefault(other, _Step(tail, name, "both"))
        return list(found.items())

    def _change_along(self, tail: str, came_from: dict[str, _Step | None]) -> str:
        """Make the changes of the path that ends at ``tail``, and return the tail where the path starts."""
        while (step := came_from[tail]) is not None:
            name = step.head
            if step.end == "both":
                self._set_pair(name, tail, step.source)
            elif step.end == "positive":
                negative = self.negative[name]
                self._remove_pair(name)
                self._set_pair(name, tail, negative)
            else:
                positive = self.positive[name]
                self._remove_pair(name)
                self._set_pair(name, positive, step.source)
            tail = step.source
        return tail

    def _set_pair(self, name: str, positive: str, negative: str) -> None:
        self.positive[name] = positive
        self.negative[name] = negative
        self.givers[positive][name] = None
        self.takers[negative][name] = None

    def _remove_pair(self, name: str) -> None:
        del self.givers[self.positive[name]][name]
        del self.takers[self.negative.pop(name)][name]
