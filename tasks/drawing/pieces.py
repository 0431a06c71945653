"""The pieces in which the stages of an edition are made, each of which is a file, and the heads in them.

Some heads are held out to demonstrate the task (method, 2.2); the others are tested.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import polars as pl

from schemas.choices import Negatives
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS
from tasks.drawing.evidence import Evidence
from tasks.drawing.pairs import PAIRS_SCHEMA
from tasks.drawing.relation_facts import PAIR, RelationFacts
from tasks.drawing.series import SeriesTurn

BLOCK_HEADS = 500
"""Heads whose tails are assigned together, at most. Another number gives other pairs. The time of a block
grows with the third power of it."""
PIECE_BLOCKS = 16
"""Blocks of a piece: 8,000 heads, whose 128,000 samples take 100 MB while they are made. Another number gives
other files with the same rows."""


@dataclass(frozen=True)
class Piece:
    """A part of the heads of a relation."""

    relation: str
    number: int = 1
    """Number of the piece, from 1."""
    of: int = 1
    """Number of pieces of the relation."""

    def select_blocks(self, heads: pl.Series) -> list[pl.Series]:
        """Return the heads of each block of the piece.

        Args:
            heads: all tested heads of the relation, in a drawn order, which are dealt to the blocks in turn.
        """
        n_blocks = count_blocks(len(heads))
        return [heads.gather_every(n_blocks, block) for block in self._list_blocks(n_blocks)]

    def count_heads(self, n_heads: int) -> int:
        """Return how many of the heads of the relation, in a drawn order, are in the blocks of the piece."""
        n_blocks = count_blocks(n_heads)
        return sum(len(range(block, n_heads, n_blocks)) for block in self._list_blocks(n_blocks))

    def _list_blocks(self, n_blocks: int) -> range:
        first = (self.number - 1) * PIECE_BLOCKS
        return range(first, n_blocks if self.number == self.of else first + PIECE_BLOCKS)

    @property
    def name(self) -> str:
        """The name of its files. Relations have no full stop in their names."""
        return self.relation if self.number == 1 else f"{self.relation}.{self.number:04}"


def count_blocks(n_heads: int) -> int:
    """Return in how many blocks so many heads of a relation are assigned."""
    return -(-n_heads // BLOCK_HEADS)


def split_piece(path: str) -> tuple[str, int]:
    """Return the first file of the relation of a stage file, and which of the relation's files this one is.

    The first file of `may_treat` is `may_treat.parquet`, the second one `may_treat.0002.parquet`.
    """
    match = re.fullmatch(r"(.*)\.(\d{4,})\.parquet", path)
    return (f"{match[1]}.parquet", int(match[2])) if match else (path, 1)


def cut_relations(n_heads: Mapping[str, int], cap: int | None) -> list[Piece]:
    """Return the pieces of all relations, in order.

    Args:
        n_heads: relation -> number of heads that can be tested.
        cap: how many heads of a relation are used at most; None: all of them.
    """
    pieces = []
    for relation, n in n_heads.items():
        n_tested = max(min(n, cap or n) - N_DEMONSTRATIONS, 1)
        of = -(-n_tested // (BLOCK_HEADS * PIECE_BLOCKS))
        pieces += [Piece(relation, number, of) for number in range(1, of + 1)]
    return pieces


HEADS_AT_ONCE = 16
"""Heads whose possible negatives are looked up at once, to find enough heads for demonstrations."""
_LOCK = Lock()


@dataclass(frozen=True)
class TripletSampling:
    """Settings with which the triplets of an edition are drawn."""

    seed: int
    negatives: Negatives = "balanced"
    heads_per_relation: int | None = None
    turn: SeriesTurn | None = None
    """The place of the edition in its series; None for an edition by itself."""
    n_anchors: int | None = None
    """Number of pairs of the relation that are kept as anchors; None: all pairs."""


@dataclass(frozen=True)
class ChosenHeads:
    """The heads of one relation."""

    evidence: Evidence
    demonstrations: pl.DataFrame
    """The pairs that are held out: head, positive and negative. They do not depend on the seed."""
    tested: pl.Series
    """The tested heads in a drawn order."""
    turn: SeriesTurn | None
    """The turn of the tested heads; None for an edition by itself."""

    def list_tested(self, piece: Piece) -> pl.Series:
        """Return the heads to test of a piece, block after block."""
        return pl.concat([self.tested[:0], *piece.select_blocks(self.tested)])

    def list_held_out(self, piece: Piece) -> pl.Series:
        """Return the heads of the demonstrations, which are in the first piece of a relation."""
        return self.demonstrations["head"] if piece.number == 1 else self.tested[:0]


_CHOSEN: WeakKeyDictionary[RelationFacts, dict[TripletSampling, ChosenHeads]] = WeakKeyDictionary()


def choose_heads(facts: RelationFacts, sampling: TripletSampling) -> ChosenHeads:
    """Return the heads to test, and the pairs of those that demonstrate the task.

    They are cached as long as the facts are. Threads of other pieces wait for them.
    """
    with _LOCK:
        chosen = _CHOSEN.setdefault(facts, {})
        if sampling not in chosen:
            chosen[sampling] = _choose_heads(facts, sampling)
        return chosen[sampling]


def _choose_heads(facts: RelationFacts, sampling: TripletSampling) -> ChosenHeads:
    evidence = Evidence(facts)
    demonstrations = _draw_demonstrations(evidence)
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
    return ChosenHeads(evidence, demonstrations, others[:n_kept], turn)


def count_tested(n_others: int, sampling: TripletSampling) -> int:
    """Return how many heads are tested of those that are not held out."""
    if sampling.heads_per_relation is None:
        return n_others
    return min(n_others, sampling.heads_per_relation - N_DEMONSTRATIONS)


def _draw_demonstrations(evidence: Evidence) -> pl.DataFrame:
    """Return the pairs of the first heads, in a drawn order, that have a possible negative."""
    order, drawn = evidence.facts.order_heads(DEMONSTRATION_SALT), pl.DataFrame(schema=PAIRS_SCHEMA)
    for start in range(0, len(order), HEADS_AT_ONCE):
        heads = order[start : start + HEADS_AT_ONCE]
        pairs = heads.to_frame("head").join(_draw_pairs(evidence, heads), on="head", maintain_order="left")
        drawn = pl.concat([drawn, pairs]).head(N_DEMONSTRATIONS)
        if drawn.height == N_DEMONSTRATIONS:
            break
    return drawn.sort("head")


def _draw_pairs(evidence: Evidence, heads: pl.Series) -> pl.DataFrame:
    """Return a positive and a negative of those heads that have one; asserted negatives are preferred."""
    facts, given = evidence.facts, heads.to_frame("head")
    tested = facts.draw(facts.list_tested(given), DEMONSTRATION_SALT, "positive")
    positives = tested.unique("head", keep="first", maintain_order=True)
    asserted = facts.list_false(given, facts.list_true(given))
    possible = [
        pl.DataFrame(
            {"head": head, "tail": evidence.tails.filter(pl.Series(is_possible))}, schema=asserted.schema
        )
        for head, is_possible in zip(heads, evidence.judge(heads).iterate_possible(), strict=True)
    ]
    drawn = [
        facts.draw(pairs.select(PAIR), DEMONSTRATION_SALT, "negative")
        for pairs in (asserted, pl.concat(possible))
    ]
    negatives = pl.concat(drawn).unique("head", keep="first", maintain_order=True)
    return positives.rename({"tail": "positive"}).join(
        negatives.rename({"tail": "negative"}), on="head", maintain_order="left"
    )
