"""How much disk space an edition and its evaluations take at most, estimated from measured sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from config.engines import ModelConfig
from config.file import Config
from knowledge.question_bank import QuestionBank
from schemas.stages import METHODS, N_DEMONSTRATIONS, SINGLE_METHODS
from schemas.transformations import NAMES
from storage.layout import WAREHOUSE
from tasks.edition.edition import Edition

SAMPLES_PER_TRIPLET = {method: 1 if method in SINGLE_METHODS else len(NAMES) for method in METHODS}
# Bytes per row, measured on the starter base and on MedLAMA; the higher of the two.
STATEMENT_BYTES = 100
SAMPLE_BYTES = 60
# This includes the reply that contained the attempt: 130 to 200 bytes in files, and about as many again in
# the warehouse.
ATTEMPT_BYTES = 400
PREDICTION_BYTES = 140
# Bytes per row in the warehouse.
LOADED_SAMPLE_BYTES = 100
LOADED_PREDICTION_BYTES = 530
MAX_QUESTIONS_PER_POINT = 10
# Files and warehouse together: a question may hold a history, and an answer a chain of thought.
QUESTION_BYTES = 1000
READING_BYTES = 2000
# Prefect's history, the cache and the pages.
BASE_BYTES = 20_000_000


@dataclass(frozen=True)
class RowCounts:
    """The largest numbers of rows that a run may write."""

    n_triplets: int
    n_samples: int
    """Of all methods, demonstrations included."""
    n_attempts: int
    n_predictions: int
    """Of all models and scoring policies."""
    n_questions: int = 0
    n_readings: int = 0
    """Answers to questions, of all models, settings and repeats."""


def count_rows(edition: Edition) -> RowCounts:
    """Return upper bounds for the rows of an edition, without building it or reading a model's files."""
    config = edition.config
    relations = edition.base.relations if edition.has_triplets else ()
    n_heads = [count_heads(edition, relation) for relation in relations]
    n_triplets = 2 * sum(n_heads)
    per_triplet = sum(SAMPLES_PER_TRIPLET[method] for method in config.edition.methods)
    table = config.rephraser
    per_variant = 0 if table.writer is None else table.max_attempts if table.gate == "on" else 1
    n_attempts = n_triplets * len(NAMES) * per_variant
    tested = [max(n - N_DEMONSTRATIONS, 0) for n in n_heads]
    n_asked = sum(count_asked_samples(model, tested, per_triplet) for model in config.models)
    n_predictions = n_asked * len(config.scoring.policies)
    n_questions = count_questions(edition) if edition.has_questions else 0
    repeats = {"answer_only": 1, "chain_of_thought": config.chain_of_thought.repeats}
    n_readings = len(config.models) * n_questions * sum(repeats[name] for name in config.questions.settings)
    return RowCounts(n_triplets, n_triplets * per_triplet, n_attempts, n_predictions, n_questions, n_readings)


def count_asked_samples(model: ModelConfig, tested: Sequence[int], per_triplet: int) -> int:
    """Return an upper bound for the samples that a model is asked about, with repeats.

    Args:
        tested: the number of tested pairs of each relation.
        per_triplet: how many samples a triplet has.
    """
    n_pairs = sum(min(n, model.pairs_per_relation or n) for n in tested)
    n_asked = 2 * per_triplet * model.repeats * n_pairs
    return n_asked if model.budget is None else min(n_asked, model.budget)


def count_questions(edition: Edition) -> int:
    """Return an upper bound for the questions of an edition."""
    if isinstance(edition.base, QuestionBank):
        return MAX_QUESTIONS_PER_POINT * len(edition.base.items)
    n_heads = sum(count_heads(edition, relation) for relation in edition.base.relations)
    return MAX_QUESTIONS_PER_POINT * n_heads


def count_heads(edition: Edition, relation: str) -> int:
    """Return how many heads of a relation the edition may use, those of demonstrations included."""
    rows = edition.base.select_relation(relation).filter(~pl.col("also_true"))
    n_heads = rows["head"].n_unique()
    return min(n_heads, edition.sampling.heads_per_relation or n_heads)


def estimate_disk_bytes(config: Config, counts: RowCounts) -> int:
    """Return how many bytes a run may write in addition to the files that exist."""
    return (
        BASE_BYTES
        + counts.n_triplets * len(NAMES) * STATEMENT_BYTES
        + counts.n_samples * (SAMPLE_BYTES + LOADED_SAMPLE_BYTES)
        + counts.n_attempts * ATTEMPT_BYTES
        + counts.n_predictions * (PREDICTION_BYTES + LOADED_PREDICTION_BYTES)
        + counts.n_questions * QUESTION_BYTES
        + counts.n_readings * READING_BYTES
        # The new warehouse is built in a second file, so the old one takes its space at the same time.
        + measure_warehouse(config.storage.root)
    )


def measure_warehouse(root: Path) -> int:
    """Return the size of the existing warehouse in bytes, 0 if there is none."""
    path = root / WAREHOUSE
    return path.stat().st_size if path.is_file() else 0
