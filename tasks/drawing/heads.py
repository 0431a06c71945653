"""Which heads of a relation are tested, and which are held out to demonstrate the task (method, 2.2)."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from primitives.hashing import draw_order
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS
from tasks.drawing.candidates import Candidates, Head, collect_candidates
from tasks.drawing.related_names import exclude_related
from tasks.drawing.series import SeriesTurn

Policy = Literal["balanced", "matched", "uniform"]


@dataclass(frozen=True)
class TripletSampling:
    """How the triplets of an edition are drawn."""

    seed: int
    negatives: Policy = "balanced"
    heads_per_relation: int | None = None
    turn: SeriesTurn | None = None
    """The place of the edition in its series; null for an edition by itself."""
    n_anchors: int | None = None
    """How many of the pairs of the relation are kept as anchors; null: all pairs."""


@dataclass(frozen=True)
class ChosenHeads:
    """The heads of one relation that have a possible negative, each in the order of the candidates."""

    possible: tuple[Head, ...]
    """All of them, with those that the cap leaves out."""
    demonstrations: tuple[Head, ...]
    tested: tuple[Head, ...]
    turn: SeriesTurn | None
    """The turn of the tested heads; null for an edition by itself."""


def collect_allowed(
    relation: str, rows: pl.DataFrame, negatives: Policy, also_false: pl.DataFrame | None
) -> Candidates:
    """Return the heads and tails of one relation, with the tails that this way of drawing excludes.

    Args:
        rows: the relation's rows of the knowledge base.
        also_false: the relation's triplets that the base asserts to be false, if there are any.
    """
    candidates = collect_candidates(relation, rows, also_false)
    return exclude_related(candidates) if negatives == "balanced" else candidates


def choose_heads(candidates: Candidates, sampling: TripletSampling) -> ChosenHeads:
    """Return the heads to test and those to demonstrate. The demonstrations do not depend on the seed."""
    possible = [h for h in candidates.heads if h.asserted or len(h.excluded) < len(candidates.pool)]
    order = draw_order((h.name for h in possible), DEMONSTRATION_SALT, candidates.relation)
    demonstrations = set(order[:N_DEMONSTRATIONS])
    others = [h for h in possible if h.name not in demonstrations]
    tested = _apply_cap(others, candidates.relation, sampling)
    turn = sampling.turn and sampling.turn.slow_down(len(tested), max(len(others), 1))
    demonstrated = tuple(h for h in possible if h.name in demonstrations)
    return ChosenHeads(tuple(possible), demonstrated, tuple(tested), turn)


def _apply_cap(heads: list[Head], relation: str, sampling: TripletSampling) -> list[Head]:
    """Return as many heads as the cap allows. In a series, the heads take turns."""
    if sampling.heads_per_relation is None or not heads:
        return heads
    names = [h.name for h in heads]
    n_kept = sampling.heads_per_relation - N_DEMONSTRATIONS
    if sampling.turn is None:
        order = draw_order(names, str(sampling.seed), relation, "cap")
    else:
        order = sampling.turn.rotate(names, relation, "cap", n_at_once=n_kept)
    kept = set(order[:n_kept])
    return [h for h in heads if h.name in kept]


def select_first_ids(rows: pl.DataFrame, column: str) -> dict[str, str | None]:
    """Return name -> its id; if a name has several ids, the smallest of them.

    Args:
        column: head or tail; its ids are in the column `<column>_id`.
    """
    pairs = rows.select(column, f"{column}_id").unique().sort(column, f"{column}_id", nulls_last=True)
    return dict(pairs.unique(subset=[column], keep="first", maintain_order=True).iter_rows())
