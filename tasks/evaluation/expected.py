"""The share of samples that `ask = "enough"` is expected to ask of a model, by what earlier ones answered."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pretexeval.primitives.literal_paths import scan_parquet_files
from pretexeval.storage.layout import evaluation_folder, run_file
from pretexeval.storage.records import read_record
from schemas.stages import PREDICTIONS
from tasks.evaluation.asked_items import read_items
from tasks.evaluation.enough import add_outcomes, count_prompts, measure_half_width
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.judged_answers import plan_looks, read_clusters


def expect_shares(evaluation: Evaluation) -> list[float]:
    """Return the share of the samples that each earlier model needed on this edition, in ascending order.

    It is computed for models that answered all of these samples, and recorded for those that were asked
    enough of them.

    Raises:
        InputError: the edition is not complete.
    """
    items = pl.concat(asked.items for asked in read_items(evaluation))
    clusters = read_clusters(evaluation)
    return sorted(_list_shares(evaluation, items, clusters))


def _list_shares(evaluation: Evaluation, items: pl.DataFrame, clusters: pl.DataFrame) -> Iterator[float]:
    for path in evaluation.root.glob(run_file(evaluation_folder(evaluation.edition_id, "*"))):
        try:
            record = read_record(path) or {}
            n_samples, n_not_needed = int(record["n_samples"]), int(record["n_not_needed"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if n_not_needed:
            yield n_samples / (n_samples + n_not_needed)
            continue
        answered = _read_answered(path.parent)
        judged = add_outcomes(items, answered.select("item_id", is_right="is_correct"))
        if judged["is_answered"].all():
            yield _count_needed(evaluation, judged, clusters) / judged.height


def _read_answered(folder: Path) -> pl.DataFrame:
    files = sorted((folder / PREDICTIONS.name).glob("*.parquet"))
    rows = scan_parquet_files(files, PREDICTIONS.empty.schema) if files else PREDICTIONS.empty.lazy()
    return rows.filter(repeat=0, scoring_policy="strict").select("item_id", "is_correct").collect()


def _count_needed(evaluation: Evaluation, judged: pl.DataFrame, clusters: pl.DataFrame) -> int:
    """Return how many prompts are asked if these are the answers."""
    precision = evaluation.scoring.precision
    for look in plan_looks(evaluation, judged):
        part = judged.filter(pl.col("turn") <= look)
        if precision and measure_half_width(part, clusters) <= precision:
            break
    n_prompts = 0
    for rows in part.sort("unit_id", "cell").partition_by("group", maintain_order=True):
        weight, right = (
            rows[name].fill_null(value=True).to_numpy().reshape(rows["unit_id"].n_unique(), -1)
            for name in ("weight", "is_right")
        )
        n_prompts += int(count_prompts(weight, right).sum())
    return n_prompts
