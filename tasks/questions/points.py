"""Knowledge points: a head of a relation, its true tails, its false ones, and its pair of triplets.

The questions that a head can and cannot carry are counted here too, without drawing any of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from pretexeval.primitives.hashing import hash_text
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.evidence import Evidence
from tasks.drawing.pieces import Piece, TripletSampling, choose_heads
from tasks.drawing.relation_facts import RelationFacts, SameNames

N_OPTIONS = 4
MAX_RIGHT = 3
"""Right options of an MAQ, at most: at least one of the four is wrong."""


@dataclass(frozen=True)
class Pair:
    """The true and the false triplet of a head."""

    pair_id: str
    true: str
    false: str


@dataclass(frozen=True)
class Point:
    """A head of one relation, and what its questions can be about."""

    name: str
    head_id: str | None
    split: str
    pair: Pair | None
    """None where balanced negatives left the head out."""
    true: tuple[str, ...]
    """True tails that differ by name and id: that of the pair first, then the others in a drawn order."""
    forbidden: frozenset[str]
    """The tails of the relation that may not be wrong options."""
    asserted: frozenset[str]
    """The tails that the base asserts to be false of the head."""
    n_false: int
    """Number of tails that differ by name and id and may be its wrong options together."""

    @property
    def n_wrong(self) -> int:
        """Return how many wrong options an MCQ about the point can have: 3, or fewer if there are fewer."""
        return min(N_OPTIONS - 1, self.n_false)

    @property
    def possible_right(self) -> range:
        """Return how many right options an MAQ about the point may have; empty if it has no four options."""
        return range(max(1, N_OPTIONS - self.n_false), min(MAX_RIGHT, len(self.true)) + 1)


@dataclass(frozen=True)
class Points:
    """The points of a piece of a relation."""

    relation: str
    tested: tuple[Point, ...]
    demonstrations: tuple[Point, ...]
    impossible: tuple[str, ...]
    """Tested heads without any false tail, which carry no question."""
    pool: tuple[str, ...]
    """The tails that can be wrong options, sorted."""
    same: SameNames
    """The classes of tails that are the same."""


def collect_points(
    facts: RelationFacts, piece: Piece, triplets: pl.DataFrame, sampling: TripletSampling
) -> Points:
    """Return the points of a piece: its heads with a false tail.

    Args:
        triplets: the triplets of the piece, drawn from these facts with this sampling.
    """
    chosen = choose_heads(facts, sampling)
    splits = {"test": chosen.list_tested(piece), "demonstration": chosen.list_held_out(piece)}
    salts = {"test": str(sampling.seed), "demonstration": DEMONSTRATION_SALT}
    builder = _PointBuilder(chosen.evidence, pl.concat(splits.values()), _list_pairs(triplets))
    points = {split: builder.build(heads, split, salts[split]) for split, heads in splits.items()}
    return Points(
        facts.relation,
        tuple(point for point in points["test"] if point.n_false),
        points["demonstration"],
        tuple(point.name for point in points["test"] if not point.n_false),
        tuple(facts.tails),
        facts.same_tails,
    )


def _list_pairs(triplets: pl.DataFrame) -> dict[str, Pair]:
    """Return head -> its pair."""
    true, false = (triplets.filter(is_positive=is_positive) for is_positive in (True, False))
    pairs = true.join(false.select("pair_id", false="tail"), on="pair_id")
    return {head: Pair(*pair) for head, *pair in pairs.select("head", "pair_id", "tail", "false").iter_rows()}


class _PointBuilder:
    """Builder of points from what the base says of the tails of some heads."""

    def __init__(self, evidence: Evidence, heads: pl.Series, pairs: dict[str, Pair]) -> None:
        self.facts, self.pairs, self.same = evidence.facts, pairs, evidence.facts.same_tails
        facts, given = evidence.facts, heads.to_frame("head")
        true = facts.list_true(given)
        self.true, self.asserted = map(_group_tails, (true, facts.list_false(given, true)))
        possible = evidence.judge(heads).iterate_possible()
        self.forbidden = {
            head: {*self.true[head], *evidence.tails.filter(pl.Series(~is_possible))}
            for head, is_possible in zip(heads, possible, strict=True)
        }
        self.head_ids = dict(facts.list_ids(given).iter_rows())
        self.groups = self.same.find_groups(facts.tails)

    def build(self, heads: pl.Series, split: str, salt: str) -> tuple[Point, ...]:
        """Return the points of some of the heads, sorted by name."""
        tested = self.facts.list_tested(heads.to_frame("head"))
        true = _group_tails(self.facts.draw(tested, salt, "true options"))
        return tuple(self._build_point(head, split, true[head]) for head in heads.sort())

    def _build_point(self, head: str, split: str, true: Iterable[str]) -> Point:
        pair = self.pairs.get(head)
        asserted = frozenset(self.asserted.get(head, ())) - self.same.list_same(self.true[head])
        forbidden = self.same.list_same(self.forbidden[head])
        others = self.same.find_groups((*asserted, *(() if pair is None else (pair.false,))))
        n_lost = len(self.same.find_groups(forbidden) & self.groups - others)
        return Point(
            name=head,
            head_id=self.head_ids[head],
            split=split,
            pair=pair,
            true=self._select_distinct(([] if pair is None else [pair.true]) + list(true)),
            forbidden=forbidden - asserted,
            asserted=asserted,
            n_false=len(self.groups) + len(others - self.groups) - n_lost,
        )

    def _select_distinct(self, tails: Iterable[str]) -> tuple[str, ...]:
        """Return the first tail of each group of tails that are the same."""
        first: dict[str, str] = {}
        for tail in tails:
            first.setdefault(self.same.find_group(tail), tail)
        return tuple(first.values())


def _group_tails(facts: pl.DataFrame) -> dict[str, list[str]]:
    """Return head -> its tails, in their order."""
    return dict(facts.group_by("head", maintain_order=True).agg("tail").iter_rows())


def identify_point(relation: str, head: str, head_id: str | None) -> str:
    """Return the id of the point: the hash of the relation, the head and its id (16 hex digits)."""
    return hash_text("point", relation, head, head_id or "")


def describe_missing(points: Points) -> list[dict[str, Any]]:
    """Return, as JSON, the questions that heads cannot carry.

    There is one item per type, form and reason, with the heads that it is about.
    """
    heads: dict[tuple[str, bool, str], list[str]] = {}
    for head, type_, is_negated, reason in _iterate_missing(points):
        heads.setdefault((type_, is_negated, reason), []).append(head)
    return [
        {
            "type": type_,
            "is_negated": is_negated,
            "reason": reason,
            "n_heads": len(names),
            "heads": sorted(names),
        }
        for (type_, is_negated, reason), names in sorted(heads.items())
    ]


def _iterate_missing(points: Points) -> Iterator[tuple[str, str, bool, str]]:
    """Yield head, type, whether it is negated, and reason of every question that a head cannot carry."""
    for name in points.impossible:
        for type_, is_negated in product(("MCQ", "RQ", "MAQ", "TFQ"), (False, True)):
            yield name, type_, is_negated, "the relation has no tail that is false of the head"
    for point in (*points.tested, *points.demonstrations):
        n_true, n_false = len(point.true), point.n_false
        for kind, n, is_negated in (("false", n_false, False), ("true", n_true, True)):
            if n < N_OPTIONS - 1:
                reason = f"needs 3 tails that are {kind} of the head; there are {n}"
                yield from ((point.name, type_, is_negated, reason) for type_ in ("MCQ", "RQ"))
        if not point.possible_right:
            reason = f"needs 4 tails, with 1 to 3 true ones; there are {n_true} true and {n_false} false ones"
            yield from ((point.name, "MAQ", is_negated, reason) for is_negated in (False, True))
