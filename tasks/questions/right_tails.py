"""The true tails in the options of balanced questions: which of a head's true tails are asked about.

No assignment can balance a tail that is true of most heads, because it can be wrong for the few others only.
Such a tail is asked about only where a head has no better one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from primitives.hashing import draw_order
from tasks.questions.points import N_OPTIONS, Point

MAX_PASSES = 20
N_TRUE_OF_NEGATED = N_OPTIONS - 1


class RightTails:
    """Chooses true tails so that they are right rarely, compared to how many heads they can be wrong for."""

    def __init__(self, points: Sequence[Point]) -> None:
        """Count for how many points each tail can be a wrong option."""
        self.n_points = len(points)
        self.n_forbidding = Counter(tail for point in points for tail in point.forbidden)
        self.n_right: Counter[str] = Counter()

    def choose(self, point: Point, first: Sequence[str], n_tails: int) -> tuple[str, ...]:
        """Return true tails of the point, beginning with those given, and count them as right."""
        chosen = list(first)
        self.n_right.update(chosen)
        for _ in range(n_tails - len(chosen)):
            others = [tail for tail in point.true if tail not in chosen]
            chosen.append(min(others, key=self._measure_load))
            self.n_right[chosen[-1]] += 1
        return tuple(chosen)

    def _measure_load(self, tail: str) -> tuple[bool, Fraction]:
        n_possible = self.n_points - self.n_forbidding[tail]
        return n_possible == 0, Fraction(self.n_right[tail] + 1, max(n_possible, 1))


def choose_true_of_negated(
    points: Sequence[Point], true: Mapping[str, str], false: Mapping[str, str], *salt: str
) -> dict[str, tuple[str, ...]]:
    """Return head -> the three true tails of its negated MCQ, for points with at least three.

    The false tail of the question is given, so the true ones are chosen: each tail should be true three times
    as often as it is false. The sum of (n_true − 3 n_false)² / (3 n_false + 1) over the tails is lowered head
    by head, until no head can lower it, or MAX_PASSES times.

    Args:
        true: head -> the tail that must be among the three.
        false: head -> the false tail.
    """
    by_name = {point.name: point for point in points if len(point.true) >= N_TRUE_OF_NEGATED}
    n_false = Counter(false[name] for name in by_name)
    n_true = Counter(true[name] for name in by_name)
    chosen: dict[str, list[str]] = {name: [] for name in by_name}

    def measure_cost(tail: str) -> Fraction:
        """Return what the sum rises by if the tail is true once more, plus a constant."""
        wanted = N_TRUE_OF_NEGATED * n_false[tail]
        return Fraction(2 * (n_true[tail] - wanted) + 1, wanted + 1)

    order = draw_order(by_name, *salt)
    for _ in range(MAX_PASSES):
        is_changed = False
        for name in order:
            n_true.subtract(chosen[name])
            others = [tail for tail in by_name[name].true if tail != true[name]]
            best = sorted(others, key=measure_cost)[: N_TRUE_OF_NEGATED - 1]
            is_changed |= set(best) != set(chosen[name])
            chosen[name] = best
            n_true.update(best)
        if not is_changed:
            break
    return {name: (true[name], *tails) for name, tails in chosen.items()}
