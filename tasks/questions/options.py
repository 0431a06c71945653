"""Which tails are the options of a point's questions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from primitives.hashing import draw_order
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.heads import TripletSampling
from tasks.drawing.shared_tails import Taker, share_tails
from tasks.questions.points import N_OPTIONS, Point, Points
from tasks.questions.right_tails import N_TRUE_OF_NEGATED, RightTails, choose_true_of_negated


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

    Under balanced and matched negatives, the wrong options of the tested points balance their right ones. The
    options of demonstrations are drawn one by one and without the seed, and so are all options under uniform
    negatives.
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
    choose_one, choose_several = RightTails(drawn), RightTails(drawn)
    true = {name: choose_one.choose(by_name[name], _list_pair_true(by_name[name]), 1) for name in order}
    one_right = [_ask(point, true[point.name], _list_pair_false(point), 1 + point.n_wrong) for point in drawn]
    false = _share(points, one_right, (*salt, "MCQ"))
    counts = _draw_counts(drawn, salt)
    right = {name: choose_several.choose(by_name[name], true[name], n) for name, n in counts.items() if n}
    several_right = [_ask(by_name[name], right[name], false[name][:1], N_OPTIONS) for name in right]
    wrong = _share(points, several_right, (*salt, "MAQ"))
    true_of_negated = choose_true_of_negated(
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
        found = possible[name]
        counts[name] = found[n_before[found] % len(found)] if found else 0
        n_before[found] += 1
    return counts


def _list_pair_true(point: Point) -> tuple[str, ...]:
    return () if point.pair is None else (point.pair.true,)


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
