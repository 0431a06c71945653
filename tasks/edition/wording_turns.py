"""After how many editions of a series a triplet comes back, so that it then gets another wording."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from prototypes.templates import Cell
from tasks.drawing.heads import Policy, TripletSampling, choose_heads, collect_allowed
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
