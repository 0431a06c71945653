"""The tails that are the options of a point's questions.

No assignment can balance a tail that is true of most heads, because it can be wrong for the few others only.
Such a tail is asked about only where a head has no better one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pretexeval.primitives.hashing import draw_order
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.pieces import TripletSampling
from tasks.drawing.shared_tails import Taker, share_tails
from tasks.questions.points import N_OPTIONS, Point, Points

MAX_PASSES = 20
N_TRUE_OF_NEGATED = N_OPTIONS - 1


@dataclass(frozen=True)
class Options:
    """The tails in the questions about one point. The first of each kind is that of the pair."""

    true: str
    """The right option of the MCQ."""
    false: tuple[str, ...]
    """The wrong options of the MCQ; fewer than three if the point has no MCQ."""
    true_of_negated: tuple[str, ...]
    """The wrong options of the negated MCQ, whose right option is the first false tail; empty if there is no
    such question."""
    right: tuple[str, ...]
    """The right options of the MAQ; empty if the point has no MAQ."""
    wrong: tuple[str, ...]
    """The wrong options of the MAQ."""


def draw_options(points: Points, sampling: TripletSampling) -> dict[str, Options]:
    """Return head -> the tails in its questions, for all points of a relation.

    Under balanced negatives, the wrong options of the tested points balance their right ones. The options of
    demonstrations are drawn one by one and without the seed, and so are all options under uniform negatives.
    """
    salt = (str(sampling.seed), points.relation, "options")
    draw = _draw_uniform if sampling.negatives == "uniform" else _draw_balanced
    demonstrations = (DEMONSTRATION_SALT, points.relation, "options")
    return draw(points, points.tested, salt) | _draw_uniform(points, points.demonstrations, demonstrations)


def _draw_uniform(points: Points, drawn: Sequence[Point], salt: tuple[str, ...]) -> dict[str, Options]:
    n_right = _draw_counts(drawn, salt)
    options = {}
    for point in drawn:
        right = point.true[: n_right[point.name]]
        n_wrong = N_OPTIONS - len(right) if right else 0
        taker = _ask(point, point.true[:1], _list_pair_false(point), 1 + max(point.n_wrong, n_wrong))
        false = _complete(taker, points, salt)
        has_negated = len(point.true) >= N_TRUE_OF_NEGATED
        options[point.name] = Options(
            true=point.true[0],
            false=false[: point.n_wrong],
            true_of_negated=point.true[:N_TRUE_OF_NEGATED] if has_negated else (),
            right=right,
            wrong=false[:n_wrong],
        )
    return options


def _draw_balanced(points: Points, drawn: Sequence[Point], salt: tuple[str, ...]) -> dict[str, Options]:
    by_name = {point.name: point for point in drawn}
    # Points without a pair come last, so that their true tails are chosen after all others are counted.
    order = sorted(draw_order(by_name, *salt, "order"), key=lambda name: by_name[name].pair is None)
    choose_one, choose_several = _RightTails(drawn), _RightTails(drawn)
    pairs = {name: by_name[name].pair for name in order}
    first = {name: () if pair is None else (pair.true,) for name, pair in pairs.items()}
    true = {name: choose_one.choose(by_name[name], first[name], 1) for name in order}
    one_right = [_ask(point, true[point.name], _list_pair_false(point), 1 + point.n_wrong) for point in drawn]
    false = _share(points, one_right, (*salt, "MCQ"))
    counts = _draw_counts(drawn, salt)
    right = {name: choose_several.choose(by_name[name], true[name], n) for name, n in counts.items() if n}
    several_right = [_ask(by_name[name], right[name], false[name][:1], N_OPTIONS) for name in right]
    wrong = _share(points, several_right, (*salt, "MAQ"))
    true_of_negated = _choose_true_of_negated(
        drawn,
        {name: tails[0] for name, tails in true.items()},
        {name: tails[0] for name, tails in false.items()},
        *salt,
        "negated MCQ",
    )
    return {
        name: Options(
            true=true[name][0],
            false=false[name],
            true_of_negated=true_of_negated.get(name, ()),
            right=right.get(name, ()),
            wrong=wrong.get(name, ()),
        )
        for name in order
    }


def _draw_counts(points: Iterable[Point], salt: tuple[str, ...]) -> dict[str, int]:
    """Return head -> how many right options its MAQ has; 0 if it has no MAQ.

    Each count that is possible for a point has the same probability. Among points for which the same counts
    are possible, the numbers of points with each count differ by at most one.
    """
    possible = {point.name: point.possible_right for point in points}
    n_before: Counter[range] = Counter()
    counts = {}
    for name in draw_order(possible, *salt, "count"):
        numbers = possible[name]
        counts[name] = numbers[n_before[numbers] % len(numbers)] if numbers else 0
        n_before[numbers] += 1
    return counts


def _list_pair_false(point: Point) -> tuple[str, ...]:
    return () if point.pair is None else (point.pair.false,)


def _ask(point: Point, right: tuple[str, ...], wrong: tuple[str, ...], n_options: int) -> Taker:
    """Return what a question about the point still needs: wrong options."""
    return Taker(point.name, right, wrong, n_options - len(right), point.forbidden, point.asserted)


def _share(points: Points, takers: Sequence[Taker], salt: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return head -> its wrong options: shared ones, and drawn ones where there are too few to share."""
    shared = share_tails(takers, points.same, *salt)
    return {taker.name: _complete(replace(taker, wrong=shared[taker.name]), points, salt) for taker in takers}


def _complete(taker: Taker, points: Points, salt: tuple[str, ...]) -> tuple[str, ...]:
    """Return the wrong options of a question, of which those that are missing are drawn uniformly.

    Tails that the base asserts to be false of the head come first.
    """
    wrong = list(taker.wrong)
    taken = points.same.find_groups((*taker.right, *wrong))
    for tail in _iterate_false(taker, points, (*salt, "false", taker.name)):
        if len(wrong) >= taker.n_wrong:
            break
        if (group := points.same.find_group(tail)) not in taken:
            wrong.append(tail)
            taken.add(group)
    return tuple(wrong)


def _iterate_false(taker: Taker, points: Points, salt: tuple[str, ...]) -> Iterator[str]:
    if len(taker.wrong) < taker.n_wrong:
        yield from draw_order(taker.asserted, *salt)
        yield from draw_order((tail for tail in points.pool if tail not in taker.forbidden), *salt)


class _RightTails:
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


def _choose_true_of_negated(
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
