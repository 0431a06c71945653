"""Knowledge points: a head of a relation, its true tails, its false ones, and its pair of triplets."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from primitives.hashing import draw_order, hash_text
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.candidates import Candidates, Head
from tasks.drawing.heads import (
    ChosenHeads,
    TripletSampling,
    choose_heads,
    collect_allowed,
    select_first_ids,
)
from tasks.drawing.planned_heads import PieceHeads
from tasks.drawing.same_names import SameNames, group_tails

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
    """Null where balanced or matched negatives left the head out."""
    true: tuple[str, ...]
    """True tails that differ by name and id: that of the pair first, then the others in a drawn order."""
    forbidden: frozenset[str]
    """The tails of the relation that may not be wrong options."""
    asserted: frozenset[str]
    """The tails that the base asserts to be false of the head."""
    n_false: int
    """How many tails that differ by name and id may be its wrong options together."""

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
    """All points of one relation."""

    relation: str
    tested: tuple[Point, ...]
    demonstrations: tuple[Point, ...]
    impossible: tuple[str, ...]
    """Heads without any false tail, which carry no question."""
    pool: tuple[str, ...]
    """The tails that can be wrong options."""
    same: SameNames
    """Which tails are the same."""


@dataclass(frozen=True)
class MissingQuestion:
    """A question that a head cannot carry, and the reason."""

    head: str
    type: str
    is_negated: bool
    reason: str


def collect_points(
    relation: str,
    rows: pl.DataFrame,
    also_false: pl.DataFrame,
    triplets: pl.DataFrame,
    sampling: TripletSampling,
    heads: PieceHeads | None = None,
) -> Points:
    """Return the points of one relation: its heads with a false tail, except those that the cap leaves out.

    Args:
        rows: the relation's rows of the knowledge base.
        also_false: the relation's triplets that the base asserts to be false.
        triplets: the relation's triplets of the edition, drawn from these rows with this sampling.
        heads: the heads of these triplets, in an edition of format 2; by default, they are chosen here.
    """
    candidates = collect_allowed(relation, rows, sampling.negatives, also_false)
    chosen = choose_heads(candidates, sampling)
    if heads is not None:
        candidates, chosen = _select_heads(candidates, heads)
    named = pl.concat([rows, also_false], how="diagonal")
    builder = _PointBuilder(
        candidates, _list_pairs(triplets), select_first_ids(named, "head"), group_tails(named)
    )
    tested = builder.build(chosen.tested, "test", str(sampling.seed))
    demonstrations = builder.build(chosen.demonstrations, "demonstration", DEMONSTRATION_SALT)
    possible = {head.name for head in chosen.possible} - {point.name for point in tested if not point.n_false}
    return Points(
        relation,
        tuple(point for point in tested if point.n_false),
        demonstrations,
        tuple(head.name for head in candidates.heads if head.name not in possible),
        candidates.pool,
        builder.same,
    )


def _select_heads(candidates: Candidates, heads: PieceHeads) -> tuple[Candidates, ChosenHeads]:
    """Return the candidates with these heads alone, and which of them are tested."""
    tested, held_out = (
        tuple(head for head in candidates.heads if head.name in names)
        for names in (heads.tested, heads.demonstrations)
    )
    possible = tuple(h for h in tested + held_out if h.asserted or len(h.excluded) < len(candidates.pool))
    chosen = ChosenHeads(possible, held_out, tuple(h for h in tested if h in possible), None)
    return replace(candidates, heads=tested + held_out), chosen


def _list_pairs(triplets: pl.DataFrame) -> dict[str, Pair]:
    """Return head -> its pair."""
    tails: dict[str, dict[bool, str]] = {}
    ids = {}
    for head, tail, is_positive, pair_id in triplets.select(
        "head", "tail", "is_positive", "pair_id"
    ).iter_rows():
        tails.setdefault(head, {})[is_positive] = tail
        ids[head] = pair_id
    return {head: Pair(ids[head], found[True], found[False]) for head, found in tails.items()}


@dataclass(frozen=True)
class _PointBuilder:
    candidates: Candidates
    pairs: dict[str, Pair]
    head_ids: dict[str, str | None]
    same: SameNames

    def build(self, heads: Iterable[Head], split: str, salt: str) -> tuple[Point, ...]:
        groups = self.same.find_groups(self.candidates.pool)
        return tuple(self._build_point(head, split, salt, groups) for head in heads)

    def _build_point(self, head: Head, split: str, salt: str, groups: set[str]) -> Point:
        pair = self.pairs.get(head.name)
        order = draw_order(head.tails, salt, self.candidates.relation, "true options", head.name)
        forbidden = self.same.list_same(head.excluded | head.true_names)
        asserted = head.asserted - self.same.list_same(head.true_names)
        false = (groups - self.same.find_groups(forbidden)) | self.same.find_groups(asserted)
        if pair is not None:
            false.add(self.same.find_group(pair.false))
        return Point(
            name=head.name,
            head_id=self.head_ids[head.name],
            split=split,
            pair=pair,
            true=self._select_distinct(([] if pair is None else [pair.true]) + order),
            forbidden=forbidden - asserted,
            asserted=asserted,
            n_false=len(false),
        )

    def _select_distinct(self, tails: Iterable[str]) -> tuple[str, ...]:
        """Return the first tail of each group of tails that are the same."""
        first: dict[str, str] = {}
        for tail in tails:
            first.setdefault(self.same.find_group(tail), tail)
        return tuple(first.values())


def identify_point(relation: str, head: str, head_id: str | None) -> str:
    """Return the id of the point: the hash of the relation, the head and its id (16 hex digits)."""
    return hash_text("point", relation, head, head_id or "")


def list_missing(points: Points) -> list[MissingQuestion]:
    """Return the questions that heads of the relation cannot carry, sorted by head."""
    missing = [
        MissingQuestion(name, type_, is_negated, "the relation has no tail that is false of the head")
        for name in points.impossible
        for type_ in ("MCQ", "RQ", "MAQ", "TFQ")
        for is_negated in (False, True)
    ]
    for point in (*points.tested, *points.demonstrations):
        missing += _list_missing_of(point)
    return sorted(missing, key=lambda question: question.head)


def _list_missing_of(point: Point) -> list[MissingQuestion]:
    n_true, n_false = len(point.true), point.n_false
    missing = []
    if n_false < N_OPTIONS - 1:
        reason = f"needs 3 tails that are false of the head; there are {n_false}"
        missing += [MissingQuestion(point.name, type_, False, reason) for type_ in ("MCQ", "RQ")]
    if n_true < N_OPTIONS - 1:
        reason = f"needs 3 tails that are true of the head; there are {n_true}"
        missing += [MissingQuestion(point.name, type_, True, reason) for type_ in ("MCQ", "RQ")]
    if not point.possible_right:
        reason = f"needs 4 tails, with 1 to 3 true ones; there are {n_true} true and {n_false} false ones"
        missing += [MissingQuestion(point.name, "MAQ", is_negated, reason) for is_negated in (False, True)]
    return missing
