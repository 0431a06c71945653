"""The wordings that samples of the rephraser `reviewed` get.

In a series of editions, a triplet that comes back gets another wording.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.mixing import Numbers, combine, hash_names, mix_bits, read_ids
from prototypes.templates import RelationPrototypes
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.heads import TripletSampling, choose_heads
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn
from tasks.drawing.uniform_pairs import list_excluded


@dataclass(frozen=True)
class WordingTurns:
    """The turns of the wordings of a piece of an edition of a series."""

    turn: SeriesTurn
    n_turns: pl.DataFrame
    """The columns head, is_positive and n_turns: after how many editions the triplet comes back."""

    def choose_places(self, rows: pl.DataFrame, n_wordings: int) -> NDArray[np.int64]:
        """Return the place of the wording of each variant, which begins with a wording of its own."""
        first = combine("series", "wording", str(self.turn.seed), read_ids(rows["variant_id"]))
        n_turns = rows.join(self.n_turns, on=["head", "is_positive"], how="left", maintain_order="left")[
            "n_turns"
        ]
        shifts = {n: self.turn.shift_wording(n, n_wordings) for n in n_turns.unique()}
        shifted = n_turns.replace_strict(shifts, return_dtype=pl.Int64).to_numpy()
        places: NDArray[np.int64] = (first % np.uint64(n_wordings)).astype(np.int64) + shifted
        return places % n_wordings


def find_wording_turns(
    piece: Piece, find_facts: Callable[[], RelationFacts], sampling: TripletSampling
) -> WordingTurns | None:
    """Return whose turn it is for the tested heads of a piece; None for an edition by itself."""
    if sampling.turn is None:
        return None
    facts = find_facts()
    chosen = choose_heads(facts, sampling)
    heads = chosen.list_tested(piece).to_frame("head")
    positives = facts.list_tested(heads).group_by("head").agg(n_turns=pl.len().cast(pl.Int64))
    asserted = facts.list_asserted(heads).group_by("head").agg(n_asserted=pl.len().cast(pl.Int64))
    if sampling.negatives == "uniform":
        n_possible = len(facts.tails) - pl.col("excluded").list.len().cast(pl.Int64)
        others = list_excluded(facts, heads, facts.tails).select("head", n_turns=n_possible)
    else:
        others = heads.with_columns(n_turns=pl.lit(NEGATIVE_TURNS, pl.Int64))
    negatives = others.join(asserted, on="head", how="left").select(
        "head", n_turns=pl.coalesce("n_asserted", "n_turns")
    )
    n_turns = [positives.with_columns(is_positive=True), negatives.with_columns(is_positive=False)]
    assert chosen.turn is not None
    return WordingTurns(chosen.turn, pl.concat(n_turns))


def draw_wordings(
    rows: pl.DataFrame, prototypes: RelationPrototypes, seed: int, turns: WordingTurns | None
) -> pl.Series:
    """Return the wording of each variant.

    Of the wordings of a cell, a variant gets the one with the least number, so that another wording in the
    pool changes few texts. In a series, the wordings of tested variants take turns.

    Args:
        rows: the statements with the columns head and is_positive.
    """
    variants = read_ids(rows["variant_id"])
    is_held_out = (rows["split"] == "demonstration").to_numpy()
    drawn = np.where(
        is_held_out, combine("wording", DEMONSTRATION_SALT, variants), combine("wording", str(seed), variants)
    )
    chosen = np.empty(rows.height, object)
    for name, cell in prototypes.cells.items():
        is_here = (rows["transformation"] == name).to_numpy()
        wordings = sorted(cell.wordings)
        chosen[is_here] = np.array(wordings, object)[_find_least(drawn[is_here], wordings)]
        if turns is not None and (is_due := is_here & ~is_held_out).any():
            places = turns.choose_places(rows.filter(is_due), len(cell.wordings))
            chosen[is_due] = np.array(cell.wordings, object)[places]
    return pl.Series(chosen.tolist(), dtype=pl.String)


def _find_least(drawn: Numbers, wordings: Sequence[str]) -> NDArray[np.int64]:
    """Return for each variant the place of the wording with the least number."""
    places: NDArray[np.int64] = mix_bits(drawn[:, None] ^ hash_names(wordings)[None, :]).argmin(axis=1)
    return places
