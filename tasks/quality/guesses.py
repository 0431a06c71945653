"""Stage guesses: what the overlap guesser says of the test triplets of an edition."""

from importlib.metadata import version
from pathlib import Path

import polars as pl

from primitives.source import hash_source
from schemas.stages import GUESSERS, GUESSES, TRIPLETS
from storage.layout import guesses_file, guesses_record
from tasks.quality.guessers import guess_truth
from tasks.quality.measured_file import Measurement, provide_measured_file


def describe_guesses() -> Measurement:
    """Return what is measured, and on what."""
    dependencies = {"source": hash_source(__name__), "trees": version("scikit-learn")}
    return Measurement(GUESSES, (TRIPLETS,), dependencies, guess_triplets)


def write_guesses(root: Path, edition_id: str) -> Path:
    """Write `guesses/<edition_id>.parquet`, unless it is up to date, and return its path.

    Raises:
        InputError: the edition is not complete.
    """
    measurement = describe_guesses()
    files = (guesses_file(edition_id), guesses_record(edition_id))
    return provide_measured_file(root, edition_id, measurement, *files)


def guess_triplets(triplets: pl.DataFrame) -> pl.DataFrame:
    """Return one row per test triplet and guesser; columns as in the stage guesses."""
    tested = triplets.filter(pl.col("split") == "test").sort("relation", "triplet_id")
    guessed = [
        frame.select(
            "triplet_id",
            "relation",
            pl.lit(guesser).alias("guesser"),
            guess_truth(guesser, str(relation), frame).alias("guess"),
        )
        for (relation,), frame in tested.group_by("relation", maintain_order=True)
        for guesser in GUESSERS
    ]
    empty = pl.DataFrame(GUESSES.schema.empty_table())
    return pl.concat([empty, *guessed])
