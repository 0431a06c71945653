"""Stage guesses: what the overlap guesser says of the test triplets of an edition."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

from primitives.mixing import combine, hash_column
from schemas.stages import GUESSERS, GUESSES, TRIPLETS
from storage.layout import guesses_file, guesses_record
from tasks.quality.guessers import guess_truth
from tasks.quality.measured_file import Measurement, provide_measured_file

GUESSES_VERSION = 1
"""Count it up when the function `guess_triplets` gives other rows for the same triplets."""
MAX_HEADS = 10_000
"""Heads of a relation of which one guesser knows. MedLAMA has 1,000 in each."""


def describe_guesses() -> Measurement:
    """Return what is measured, and on what."""
    dependencies = {"version": str(GUESSES_VERSION), "trees": version("scikit-learn")}
    return Measurement(GUESSES, (TRIPLETS,), dependencies, guess_triplets)


def write_guesses(root: Path, edition_id: str) -> Path:
    """Write `guesses/<edition_id>.parquet`, unless it is up to date, and return its path.

    Raises:
        InputError: the edition is not complete.
    """
    measurement = describe_guesses()
    files = (guesses_file(edition_id), guesses_record(edition_id))
    return provide_measured_file(root, edition_id, measurement, *files)


def guess_triplets(triplets: pl.DataFrame, max_heads: int = MAX_HEADS) -> pl.DataFrame:
    """Return one row per test triplet and guesser; columns as in the stage guesses.

    A relation with more than ``max_heads`` heads is divided at random into parts, and the guessers of a part
    know nothing of the others. This bounds the memory.
    """
    tested = triplets.filter(pl.col("split") == "test").sort("relation", "triplet_id")
    guessed = [
        part.select(
            "triplet_id",
            "relation",
            pl.lit(guesser).alias("guesser"),
            guess_truth(guesser, str(relation), part).alias("guess"),
        )
        for (relation,), frame in tested.group_by("relation", maintain_order=True)
        for guesser in GUESSERS
        for part in _divide(str(relation), frame, max_heads)
    ]
    empty = pl.DataFrame(GUESSES.schema.empty_table())
    return pl.concat([empty, *guessed])


def _divide(relation: str, triplets: pl.DataFrame, max_heads: int) -> Iterator[pl.DataFrame]:
    """Yield the triplets of the parts of one relation. All triplets of a head are in the same part."""
    n_parts = -(-triplets["head"].n_unique() // max_heads)
    if n_parts == 1:
        yield triplets
        return
    number = pl.Series(combine("guesses", relation, hash_column(triplets["head"])) % np.uint64(n_parts))
    for part in range(n_parts):
        yield triplets.filter(number == part)
