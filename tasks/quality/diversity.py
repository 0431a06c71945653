"""Stage diversity: how far samples are from their statements and from each other (method, section 4).

Every distance is an edit distance (Levenshtein 1966) over the length of the longer sequence, 0 to 1: of
words for lexical, of parts of speech for structural diversity, the two that PretexEval's doctors grade
(appendix H).

- lexical_distance, structural_distance: from the sample to its statement, which is the triplet's `none`
  where the sample has no variant (llmeval). What rewording changes; 0 for a sample that is its statement.
- lexical_spread, structural_spread: mean over the other samples of the same triplet and method. What
  the method as a whole varies, transformations included: this compares methods. It is the mean pairwise
  distance once averaged over the samples (as in self-BLEU, Zhu et al. 2018, with a distance).
"""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

import polars as pl
from pydantic import BaseModel, ValidationError

from primitives.hashing import draw_order, hash_json
from primitives.source import hash_source
from schemas.stages import DIVERSITY, SAMPLES, STATEMENTS, TRIPLETS
from storage.files import FileRef, read_stage_files, write_json, write_stage_file
from storage.layout import diversity_file, diversity_record
from storage.records import read_manifest, read_manifest_files
from tasks.quality.sentences import measure_distance, read_sentence

N_TRIPLETS = 20
STAGES = (TRIPLETS, STATEMENTS, SAMPLES)


class DiversityRecord(BaseModel):
    """What a file of diversity was made from, and the file."""

    key: str
    file: FileRef


def write_diversity(root: Path, edition_id: str) -> Path:
    """`diversity/<edition_id>.parquet`; made where it is not there as it would be made now.

    Raises:
        InputError: if the edition is not complete.
    """
    read_manifest(root, edition_id)
    refs = [list(read_manifest_files(root, edition_id, stage.name).values()) for stage in STAGES]
    path, record = diversity_file(edition_id), root / diversity_record(edition_id)
    key = _key_file([ref.sha256 for of_stage in refs for ref in of_stage])
    if not _is_current(root, record, key):
        triplets, statements, samples = (read_stage_files(root, of_stage) for of_stage in refs)
        file = write_stage_file(root, path, measure_diversity(samples, statements, triplets), DIVERSITY)
        write_json(record, DiversityRecord(key=key, file=file).model_dump())
    return root / path


def _key_file(checksums: list[str]) -> str:
    parts = {
        "inputs": checksums,
        "schema": str(DIVERSITY.schema),
        "source": hash_source(__name__),
        "tagger": version("hanta"),
    }
    return hash_json(parts, digits=32)


def _is_current(root: Path, record: Path, key: str) -> bool:
    try:
        kept = DiversityRecord.model_validate_json(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError, UnicodeDecodeError):
        return False
    return kept.key == key and kept.file.is_intact(root)


def measure_diversity(
    samples: pl.DataFrame, statements: pl.DataFrame, triplets: pl.DataFrame, n_triplets: int = N_TRIPLETS
) -> pl.DataFrame:
    """One row per sample of up to ``n_triplets`` test triplets of each relation; columns of the stage.

    The triplets are drawn by their hash: the same ones for every method.
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


def _draw_triplets(triplets: pl.DataFrame, n_triplets: int) -> pl.DataFrame:
    """triplet_id, head, tail of up to so many test triplets of each relation."""
    tested = triplets.filter(pl.col("split") == "test")
    drawn = [
        triplet_id
        for (relation,), frame in tested.group_by("relation")
        for triplet_id in draw_order(frame["triplet_id"], "diversity", str(relation))[:n_triplets]
    ]
    return tested.filter(pl.col("triplet_id").is_in(drawn)).select("triplet_id", "head", "tail")


def _add_statements(samples: pl.DataFrame, statements: pl.DataFrame) -> pl.DataFrame:
    """The samples with their statement: their variant's, or else their triplet's `none`."""
    plain = statements.filter(pl.col("transformation") == "none")
    return (
        samples.join(statements.select("variant_id", "statement"), on="variant_id", how="left")
        .join(plain.select("triplet_id", pl.col("statement").alias("plain")), on="triplet_id", how="left")
        .with_columns(pl.coalesce("statement", "plain").alias("statement"))
    )


def _measure_siblings(frame: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    """The rows of the samples of one triplet by one method."""
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
