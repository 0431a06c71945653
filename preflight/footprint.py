"""How much disk an edition and its evaluations take, from what earlier ones took."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from config.file import Config
from schemas.stages import N_DEMONSTRATIONS
from schemas.transformations import NAMES
from storage.layout import WAREHOUSE
from tasks.edition.edition import Edition

SAMPLES_PER_TRIPLET = {"pretexeval": len(NAMES), "prototype": len(NAMES), "direct": 1, "llmeval": len(NAMES)}
# Bytes a row, measured on the starter base and on MedLAMA (the higher of the two).
STATEMENT_BYTES = 100
SAMPLE_BYTES = 60
# With the reply that it was taken from: 130 to 200 in files, and about as much in the warehouse.
ATTEMPT_BYTES = 400
PREDICTION_BYTES = 140
# In the warehouse; it is built aside, so that the old one is there at the same time.
LOADED_SAMPLE_BYTES = 100
LOADED_PREDICTION_BYTES = 530
# Prefect's history, the cache, the pages.
BASE_BYTES = 20_000_000


@dataclass(frozen=True)
class RowCounts:
    """Rows that a run may write, at most."""

    n_triplets: int
    n_samples: int
    """Demonstrations included, of all methods."""
    n_attempts: int
    n_predictions: int
    """Of all models and policies."""


def count_rows(edition: Edition) -> RowCounts:
    """What the edition may hold at most, counted without making it and without reading a model's files."""
    config = edition.config
    n_heads = [count_heads(edition, relation) for relation in edition.base.relations]
    n_triplets = 2 * sum(n_heads)
    per_triplet = sum(SAMPLES_PER_TRIPLET[method] for method in config.edition.methods)
    n_attempts = n_triplets * len(NAMES) * config.rephraser.max_attempts if config.rephraser.writer else 0
    tested = [max(n - N_DEMONSTRATIONS, 0) for n in n_heads]
    n_asked = sum(
        2 * per_triplet * min(n, model.pairs_per_relation or n) for model in config.models for n in tested
    )
    n_predictions = n_asked * len(config.scoring.policies)
    return RowCounts(n_triplets, n_triplets * per_triplet, n_attempts, n_predictions)


def count_heads(edition: Edition, relation: str) -> int:
    """Heads of a relation that the edition may use, those of demonstrations included."""
    rows = edition.base.select_relation(relation).filter(~pl.col("also_true"))
    n_heads = rows["head"].n_unique()
    return min(n_heads, edition.sampling.heads_per_relation or n_heads)


def estimate_bytes(config: Config, counts: RowCounts) -> int:
    """Disk that a run may take beside what is there."""
    return (
        BASE_BYTES
        + counts.n_triplets * len(NAMES) * STATEMENT_BYTES
        + counts.n_samples * (SAMPLE_BYTES + LOADED_SAMPLE_BYTES)
        + counts.n_attempts * ATTEMPT_BYTES
        + counts.n_predictions * (PREDICTION_BYTES + LOADED_PREDICTION_BYTES)
        + measure_warehouse(config.storage.root)
    )


def measure_warehouse(root: Path) -> int:
    """Bytes of the warehouse that is there."""
    path = root / WAREHOUSE
    return path.stat().st_size if path.is_file() else 0
