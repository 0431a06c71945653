"""Which wording of its cell a sample of the rephraser `reviewed` gets."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from primitives.hashing import draw_one
from primitives.mixing import Numbers, combine, hash_names, mix_bits, read_ids
from prototypes.templates import RelationPrototypes
from schemas.stages import DEMONSTRATION_SALT
from tasks.edition.wording_turns import PieceTurns, WordingTurns


def draw_wordings(
    rows: pl.DataFrame, prototypes: RelationPrototypes, seed: int, turns: WordingTurns | None
) -> pl.Series:
    """Return the wording of each variant in editions of format 1.

    Args:
        rows: the statements with the columns head and is_positive.
    """
    salts = {"test": str(seed), "demonstration": DEMONSTRATION_SALT}

    def choose(variant_id: str, transformation: str, split: str, head: str, is_positive: bool) -> str:
        cell = prototypes.cells[transformation]
        if turns is not None and split == "test":
            return turns.choose(cell, variant_id, head, is_positive)
        return draw_one(cell.wordings, "wording", salts[split], variant_id)

    columns = rows.select("variant_id", "transformation", "split", "head", "is_positive")
    return pl.Series([choose(*row) for row in columns.iter_rows()], dtype=pl.String)


def draw_wordings_in_columns(
    rows: pl.DataFrame, prototypes: RelationPrototypes, seed: int, turns: PieceTurns | None
) -> pl.Series:
    """Return the wording of each variant in editions of format 2.

    Of the wordings of a cell, a variant gets the one with the least number, so that another wording in the
    pool changes few texts. In a series, the wordings of tested variants take turns.

    Args:
        rows: as those of `draw_wordings`.
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
