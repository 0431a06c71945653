"""Stage diversity: distances of samples from their statements and from each other (method, section 4).

Every distance is an edit distance (Levenshtein 1966) divided by the length of the longer sequence, so it is
between 0 and 1. Lexical diversity compares words, structural diversity compares parts of speech; the doctors
of PretexEval grade the same two (appendix H).

- lexical_distance, structural_distance: from the sample to its statement, or to the statement `none` of its
  triplet if the sample has no variant (llmeval). They measure what rewording changes, and are 0 for a sample
  that is its statement.
- lexical_spread, structural_spread: mean distance to the other samples of the same triplet and method. They
  measure how much the method as a whole varies, including its transformations, and so compare methods. Their
  mean over samples is the mean pairwise distance (as in self-BLEU, Zhu et al. 2018, with a distance).
"""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

import polars as pl

from primitives.hashing import draw_order
from schemas.stages import DIVERSITY, SAMPLES, STATEMENTS, TRIPLETS
from storage.layout import diversity_file, diversity_record
from tasks.quality.measured_file import Measurement, provide_measured_file
from tasks.quality.sentences import measure_distance, read_sentence

N_TRIPLETS = 20
DIVERSITY_VERSION = 1
"""Count it up when the function `measure_diversity` gives other rows for the same samples."""


def describe_diversity() -> Measurement:
    """Return what is measured, and on what."""
    dependencies = {"version": str(DIVERSITY_VERSION), "tagger": version("hanta")}
    inputs = (TRIPLETS, SAMPLES, STATEMENTS)
    return Measurement(DIVERSITY, inputs, dependencies, measure_diversity, _list_drawn)


def write_diversity(root: Path, edition_id: str) -> Path:
    """Write `diversity/<edition_id>.parquet`, unless it is up to date, and return its path.

    Raises:
        InputError: the edition is not complete.
    """
    measurement = describe_diversity()
    files = (diversity_file(edition_id), diversity_record(edition_id))
    return provide_measured_file(root, edition_id, measurement, *files)


def measure_diversity(
    triplets: pl.DataFrame, samples: pl.DataFrame, statements: pl.DataFrame, n_triplets: int = N_TRIPLETS
) -> pl.DataFrame:
    """Return one row per sample of up to ``n_triplets`` test triplets of each relation; columns of the stage.

    The triplets are drawn by their hash, so they are the same for every method.
    """
    drawn = _draw_triplets(triplets, n_triplets)
    texts = (
        _add_statements(samples, statements)
        .join(drawn, on="triplet_id")
        .sort("relation", "method", "triplet_id", "sample_index", "sample_id")
    )
    siblings = texts.group_by("relation", "method", "triplet_id", maintain_order=True)
    rows = [row for _, frame in siblings for row in _measure_siblings(frame)]
    schema = pl.DataFrame(DIVERSITY.schema.empty_table()).schema
    return pl.DataFrame(rows, schema=schema, orient="row")


def _list_drawn(triplets: pl.DataFrame) -> pl.Series:
    return _draw_triplets(triplets, N_TRIPLETS)["triplet_id"]


def _draw_triplets(triplets: pl.DataFrame, n_triplets: int) -> pl.DataFrame:
    """Return triplet_id, head and tail of up to ``n_triplets`` test triplets of each relation."""
    tested = triplets.filter(pl.col("split") == "test")
    drawn = [
        triplet_id
        for (relation,), frame in tested.group_by("relation")
        for triplet_id in draw_order(frame["triplet_id"], "diversity", str(relation))[:n_triplets]
    ]
    return tested.filter(pl.col("triplet_id").is_in(drawn)).select("triplet_id", "head", "tail")


def _add_statements(samples: pl.DataFrame, statements: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with the statement of their variant, or else the `none` of their triplet."""
    plain = statements.filter(pl.col("transformation") == "none")
    return (
        samples.join(statements.select("variant_id", "statement"), on="variant_id", how="left")
        .join(plain.select("triplet_id", pl.col("statement").alias("plain")), on="triplet_id", how="left")
        .with_columns(pl.coalesce("statement", "plain").alias("statement"))
    )


def _measure_siblings(frame: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the samples of one triplet by one method."""
    columns = ("sample_id", "triplet_id", "relation", "method", "text", "statement", "head", "tail")
    rows = list(frame.select(columns).iter_rows())
    read = [read_sentence(text, head, tail) for *_, text, _, head, tail in rows]
    for i, (*keys, _, statement, head, tail) in enumerate(rows):
        others = read[:i] + read[i + 1 :]
        origin = read_sentence(statement, head, tail)
        yield (
            *keys,
            measure_distance(read[i].words, origin.words),
            measure_distance(read[i].tags, origin.tags),
            fmean(measure_distance(read[i].words, other.words) for other in others) if others else None,
            fmean(measure_distance(read[i].tags, other.tags) for other in others) if others else None,
        )
