"""The pieces in which the stages of an edition are made, each of which is a file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from schemas.stages import N_DEMONSTRATIONS

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
            heads: all heads of the relation, in a drawn order; they are dealt to the blocks in turn.
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
