"""Matched negatives: positives and negatives of a relation drawn together, as a circulation.

Each pair is an arrow from its positive tail to its negative one, and every tail has as many arrows out
as in, so no statistic of the tail alone tells a positive triplet from a negative one. The exact program
takes minutes on MedLAMA. This draws at random, drops what does not balance, and takes heads back in
along alternating paths; the tests hold it against the exact program.
"""

from collections import Counter, defaultdict, deque
from dataclasses import dataclass

from primitives.hashing import draw_one, draw_order, hash_text
from tasks.edition.candidates import Candidates


def draw_circulation(candidates: Candidates, salt: str) -> dict[str, tuple[str, str]]:
    """Head -> (positive tail, negative tail), for as many heads as can be kept.

    Positive and negative tails are the same multiset. Heads that are missing had to be left out.
    """
    circulation = _Circulation(candidates, salt)
    circulation.assign_negatives()
    circulation.drop_unbalanced()
    circulation.take_back_in()
    return {name: (circulation.positive[name], tail) for name, tail in circulation.negative.items()}


@dataclass(frozen=True)
class _Step:
    """How one unit of imbalance moves from tail ``source`` on: which end of which head changes."""

    source: str
    head: str
    end: str  # "positive", "negative", or "both" for a head that is taken in


class _Circulation:
    def __init__(self, candidates: Candidates, salt: str) -> None:
        self.salt = (salt, candidates.relation)
        heads = {h.name: h for h in candidates.heads}
        self.heads = {name: heads[name] for name in draw_order(heads, *self.salt, "order")}
        self.tails = candidates.pool
        self.positive = {
            name: draw_one(head.tails, *self.salt, "positive", name) for name, head in self.heads.items()
        }
        self.negative: dict[str, str] = {}
        # Tail -> the heads that have it as their positive (givers) or negative (takers), in order.
        self.givers: dict[str, dict[str, None]] = defaultdict(dict)
        self.takers: dict[str, dict[str, None]] = defaultdict(dict)

    def assign_negatives(self) -> None:
        """Deal the positive tails out as negatives, the tail that fewest heads can take first."""
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
                self._keep(name, self.positive[name], tail)
                waiting.remove(name)

    def drop_unbalanced(self) -> None:
        """Leave heads out until every tail is given as often as it is taken."""
        pending = deque(self.tails)
        while pending:
            tail = pending.popleft()
            givers, takers = self.givers[tail], self.takers[tail]
            while len(givers) != len(takers):
                name = next(reversed(givers if len(givers) > len(takers) else takers))
                pending.extend((self.positive[name], self.negative[name]))
                self._drop(name)

    def take_back_in(self) -> None:
        """Take heads in again wherever others can change their tails to make room."""
        is_changed = True
        while is_changed:
            is_changed = False
            for name in self.heads:
                if name not in self.negative and self._take_in(name):
                    is_changed = True

    def _take_in(self, name: str) -> bool:
        """Search a path of changes from a true tail of ``name`` to one that can be its negative."""
        head = self.heads[name]
        came_from: dict[str, _Step | None] = dict.fromkeys(head.tails)
        left_out = {n: None for n in self.heads if n not in self.negative and n != name}
        queue = deque(head.tails)
        while queue:
            tail = queue.popleft()
            if tail not in head.excluded:
                positive = self._change_along(tail, came_from)
                self._keep(name, positive, tail)
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
            # All its tails are seen from here on, so no path takes it in twice.
            del left_out[name]
            for other in self.heads[name].tails:
                if other not in seen:
                    found.setdefault(other, _Step(tail, name, "both"))
        return list(found.items())

    def _change_along(self, tail: str, came_from: dict[str, _Step | None]) -> str:
        """Make the changes of the path that ends at ``tail``; the tail at which it starts."""
        while (step := came_from[tail]) is not None:
            name = step.head
            if step.end == "both":
                self._keep(name, tail, step.source)
            elif step.end == "positive":
                negative = self.negative[name]
                self._drop(name)
                self._keep(name, tail, negative)
            else:
                positive = self.positive[name]
                self._drop(name)
                self._keep(name, positive, step.source)
            tail = step.source
        return tail

    def _keep(self, name: str, positive: str, negative: str) -> None:
        self.positive[name] = positive
        self.negative[name] = negative
        self.givers[positive][name] = None
        self.takers[negative][name] = None

    def _drop(self, name: str) -> None:
        del self.givers[self.positive[name]][name]
        del self.takers[self.negative.pop(name)][name]
