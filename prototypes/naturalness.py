"""The naturalness of the bundled wordings, as a small language model measures it, per relation.

`python -m benchmarks --only naturalness MODEL --write` measures the figures in `naturalness.tsv`. They count
only for texts with the same checksum.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from prototypes.pool import Pool

FILE = Path(__file__).parent / "naturalness.tsv"
READER = "SmolLM2-135M-Instruct"
STILTED = 1.0
"""Excess, in nats per token, above which a wording counts as stilted."""


def describe_naturalness(pool: Pool, relations: Iterable[str]) -> dict[str, float]:
    """Return the mean excess of the wordings of the measured relations, and the share of stilted ones.

    The excess of a wording is the mean surprisal of its words, in nats per token, minus that of its
    relation's plain statement. The keys are mean_excess, stilted_rate, n_wordings and n_relations; there are
    none if no relation was measured.
    """
    checksums = pl.Series([pool.checksum_relation(relation) for relation in relations], dtype=pl.String)
    found = pl.read_csv(FILE.read_bytes(), separator="\t").filter(
        pl.col("checksum").is_in(checksums.implode())
    )
    if found.is_empty():
        return {}
    n = pl.col("n_wordings").sum()
    return found.select(
        mean_excess=((pl.col("mean_excess") * pl.col("n_wordings")).sum() / n).round(3),
        stilted_rate=pl.col("n_stilted").sum() / n,
        n_wordings=n,
        n_relations=pl.len(),
    ).row(0, named=True)
