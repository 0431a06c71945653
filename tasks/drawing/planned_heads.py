"""Which heads of a relation are held out, and which are tested, in editions of format 2."""

from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import polars as pl

from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS
from tasks.drawing.block_pairs import PAIRS_SCHEMA
from tasks.drawing.heads import TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.related_words import RelatedWords
from tasks.drawing.relation_facts import PAIR, RelationFacts
from tasks.drawing.series import SeriesTurn

HEADS_AT_ONCE = 16
TAILS_AT_ONCE = 64
_LOCK = Lock()


@dataclass(frozen=True)
class PieceHeads:
    """The names of the heads of a piece."""

    tested: frozenset[str]
    demonstrations: frozenset[str]
    """Empty except in the first piece of a relation."""


@dataclass(frozen=True)
class PlannedHeads:
    """The heads of one relation."""

    demonstrations: pl.DataFrame
    """The pairs that are held out: head, positive and negative. They do not depend on the seed."""
    tested: pl.Series
    """In a drawn order."""
    turn: SeriesTurn | None
    """The turn of the tested heads; null for an edition by itself."""

    def list_tested(self, piece: Piece) -> pl.Series:
        """Return the heads to test of a piece, block after block."""
        return pl.concat([self.tested[:0], *piece.select_blocks(self.tested)])

    def name_heads(self, piece: Piece) -> PieceHeads:
        """Return the names of the heads of a piece."""
        held_out = self.demonstrations["head"] if piece.number == 1 else ()
        return PieceHeads(frozenset(self.list_tested(piece)), frozenset(held_out))


_PLANS: WeakKeyDictionary[RelationFacts, dict[TripletSampling, PlannedHeads]] = WeakKeyDictionary()


def plan_heads(facts: RelationFacts, sampling: TripletSampling) -> PlannedHeads:
    """Return the heads to test, and the pairs of those that demonstrate the task.

    A plan is cached as long as the facts are. Threads of other pieces wait for it.
    """
    with _LOCK:
        plans = _PLANS.setdefault(facts, {})
        if sampling not in plans:
            plans[sampling] = _plan_heads(facts, sampling)
        return plans[sampling]


def _plan_heads(facts: RelationFacts, sampling: TripletSampling) -> PlannedHeads:
    demonstrations = draw_demonstrations(facts)
    if sampling.turn is None:
        order = facts.order_heads(str(sampling.seed), "cap")
    else:
        order = facts.order_heads("series", str(sampling.turn.seed), "cap")
    others = order.filter(~order.is_in(demonstrations["head"].implode()))
    n_kept = count_tested(len(others), sampling)
    if sampling.turn is not None:
        start = sampling.turn.number * n_kept % max(len(others), 1)
        others = pl.concat([others[start:], others[:start]])
    turn = sampling.turn and sampling.turn.slow_down(n_kept, max(len(others), 1))
    return PlannedHeads(demonstrations, others[:n_kept], turn)


def count_tested(n_others: int, sampling: TripletSampling) -> int:
    """Return how many heads are tested of those that are not held out."""
    if sampling.heads_per_relation is None:
        return n_others
    return min(n_others, sampling.heads_per_relation - N_DEMONSTRATIONS)


def draw_demonstrations(facts: RelationFacts) -> pl.DataFrame:
    """Return the pairs of the first heads, in a drawn order, that have a possible negative."""
    order, found = facts.order_heads(DEMONSTRATION_SALT), pl.DataFrame(schema=PAIRS_SCHEMA)
    for start in range(0, len(order), HEADS_AT_ONCE):
        heads = order[start : start + HEADS_AT_ONCE]
        pairs = heads.to_frame("head").join(_draw_pairs(facts, heads), on="head", maintain_order="left")
        found = pl.concat([found, pairs]).head(N_DEMONSTRATIONS)
        if found.height == N_DEMONSTRATIONS:
            break
    return found.sort("head")


def _draw_pairs(facts: RelationFacts, heads: pl.Series) -> pl.DataFrame:
    """Return a positive and a negative of those heads that have one; asserted negatives are preferred."""
    given = heads.to_frame("head")
    tested = facts.draw(facts.list_tested(given), DEMONSTRATION_SALT, "positive")
    positives = tested.unique("head", keep="first", maintain_order=True)
    true = facts.list_true(given)
    asserted = facts.list_asserted(given)
    asserted = asserted.join(facts.exclude(true, asserted.select("tail").unique()), on=PAIR, how="anti")
    negatives = [_select_first(facts, asserted)]
    order = facts.order_tails(DEMONSTRATION_SALT)
    waiting = given
    for tails in (order[:TAILS_AT_ONCE], order[TAILS_AT_ONCE:]):
        waiting = waiting.join(negatives[-1], on="head", how="anti")
        if waiting.is_empty() or tails.is_empty():
            break
        negatives.append(_select_first(facts, _list_possible(facts, waiting, true, tails)))
    return positives.rename({"tail": "positive"}).join(
        pl.concat(negatives).rename({"tail": "negative"}), on="head", maintain_order="left"
    )


def _select_first(facts: RelationFacts, pairs: pl.DataFrame) -> pl.DataFrame:
    drawn = facts.draw(pairs.select(PAIR), DEMONSTRATION_SALT, "negative")
    return drawn.unique("head", keep="first", maintain_order=True)


def _list_possible(
    facts: RelationFacts, heads: pl.DataFrame, true: pl.DataFrame, tails: pl.Series
) -> pl.DataFrame:
    """Return the pairs of these heads and tails that may be negatives."""
    true = true.join(heads, on="head", how="semi")
    possible = heads.join(tails.to_frame("tail"), how="cross")
    possible = possible.join(facts.exclude(true, tails.to_frame("tail")), on=PAIR, how="anti")
    names = pl.concat([tails, true["tail"]]).unique().sort()
    rows = [names.search_sorted(column).to_numpy() for column in (tails, true["tail"])]
    related = RelatedWords(names).find(*rows).nonzero()
    uncertain = pl.DataFrame({"head": true["head"].gather(related[1]), "tail": tails.gather(related[0])})
    return possible.join(uncertain, on=PAIR, how="anti")
