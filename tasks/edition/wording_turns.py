"""After how many editions of a series a triplet comes back, so that it then gets another wording."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.mixing import combine, read_ids
from prototypes.templates import Cell
from tasks.drawing.heads import Policy, TripletSampling, choose_heads, collect_allowed
from tasks.drawing.pieces import Piece
from tasks.drawing.planned_heads import plan_heads
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn


@dataclass(frozen=True)
class WordingTurns:
    """Whose turn it is among the wordings of an edition of a series."""

    turn: SeriesTurn
    n_turns: Mapping[tuple[str, bool], int]
    """Head, and truth of its triplet -> after how many editions the triplet comes back, if it can."""

    def choose(self, cell: Cell, variant_id: str, head: str, is_positive: bool) -> str:
        """Return the wording of a variant of the head's positive or negative triplet."""
        return self.turn.choose_wording(cell.wordings, self.n_turns[head, is_positive], variant_id)


@dataclass(frozen=True)
class PieceTurns:
    """Whose turn it is among the wordings of a piece of an edition of format 2."""

    turn: SeriesTurn
    n_turns: pl.DataFrame
    """The columns head, is_positive and n_turns: after how many editions the triplet comes back."""

    def choose_places(self, rows: pl.DataFrame, n_wordings: int) -> NDArray[np.int64]:
        """Return the place of the wording of each variant, as `SeriesTurn.choose_wording` does."""
        first = combine("series", "wording", str(self.turn.seed), read_ids(rows["variant_id"]))
        n_turns = rows.join(self.n_turns, on=["head", "is_positive"], how="left", maintain_order="left")[
            "n_turns"
        ]
        shifts = {n: self.turn.shift_wording(n, n_wordings) for n in n_turns.unique()}
        shifted = n_turns.replace_strict(shifts, return_dtype=pl.Int64).to_numpy()
        places: NDArray[np.int64] = (first % np.uint64(n_wordings)).astype(np.int64) + shifted
        return places % n_wordings


def find_piece_turns(
    piece: Piece, find_facts: Callable[[], RelationFacts], sampling: TripletSampling
) -> PieceTurns | None:
    """Return whose turn it is for the tested heads of a piece; null for an edition by itself."""
    if sampling.turn is None:
        return None
    facts = find_facts()
    planned = plan_heads(facts, sampling)
    heads = planned.list_tested(piece).to_frame("head")
    positives = facts.list_tested(heads).group_by("head").agg(n_turns=pl.len().cast(pl.Int64))
    asserted = facts.list_asserted(heads).group_by("head").agg(n_asserted=pl.len().cast(pl.Int64))
    negatives = heads.join(asserted, on="head", how="left").select(
        "head", n_turns=pl.col("n_asserted").fill_null(NEGATIVE_TURNS)
    )
    n_turns = [positives.with_columns(is_positive=True), negatives.with_columns(is_positive=False)]
    assert planned.turn is not None
    return PieceTurns(planned.turn, pl.concat(n_turns))


def find_wording_turns(
    relation: str, rows: pl.DataFrame, sampling: TripletSampling, also_false: pl.DataFrame
) -> WordingTurns | None:
    """Return whose turn it is for the tested heads of a relation; null for an edition by itself."""
    if sampling.turn is None:
        return None
    candidates = collect_allowed(relation, rows, sampling.negatives, also_false)
    chosen = choose_heads(candidates, sampling)
    assert chosen.turn is not None
    n_negatives = _count_negative_turns(sampling.negatives, len(candidates.pool))
    n_turns = {(head.name, True): len(head.tails) for head in chosen.tested}
    n_turns |= {(head.name, False): len(head.asserted) or n_negatives for head in chosen.tested}
    return WordingTurns(chosen.turn, n_turns)


def _count_negative_turns(negatives: Policy, n_tails: int) -> int:
    """Return after how many editions a negative comes back; matched negatives may come back in the next."""
    return {"balanced": NEGATIVE_TURNS, "matched": 1, "uniform": n_tails}[negatives]
