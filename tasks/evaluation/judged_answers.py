"""Read the stored answers to requests, and score them, file by file."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pretexeval.primitives.literal_paths import scan_parquet_files
from pretexeval.storage.files import FileRef, read_stage_file
from pretexeval.storage.records import read_manifest_files
from schemas.stages import REQUESTS, TRIPLETS
from tasks.asking.reasoning import READ_COLUMNS, read_answers
from tasks.evaluation.asked_items import read_items
from tasks.evaluation.enough import PAIR, add_outcomes, list_looks, select_needed
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.predictions import Scoring, read_responses, score_readings
from tasks.evaluation.request_files import RequestFiles, scan_requests


def read_stored_answers(evaluation: Evaluation, keys: pl.LazyFrame, scoring: Scoring) -> pl.DataFrame:
    """Return prompt_key, repeat and the columns of `read_answers` of the stored responses to these prompts.

    Args:
        keys: the column prompt_key.
    """
    responses = evaluation.store.read(["prompt_key", "repeat", *READ_COLUMNS], keys)
    model, max_tokens = evaluation.model, evaluation.request_settings.sampling.max_tokens
    return read_answers(
        responses,
        scoring.marks,
        is_chat=model.prompt_style == "chat",
        max_tokens=None if model.engine == "imported" else max_tokens,
    )


def score_file(
    evaluation: Evaluation, requests: pl.DataFrame, rows: FileRef, answers: pl.DataFrame, scoring: Scoring
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the readings and the predictions of requests about one file of the edition.

    Args:
        rows: the file of the samples or questions.
        answers: as `read_stored_answers` returns them.
    """
    kind = evaluation.subject.kind
    items = kind.read_items(read_stage_file(evaluation.root / rows.path, kind.stage))
    is_reasoned = evaluation.subject.is_reasoned
    readings = read_responses(kind, requests, items, answers, is_reasoned=is_reasoned)
    return readings, score_readings(kind, readings, items, scoring.policies)


def judge_items(evaluation: Evaluation, items: pl.DataFrame, requests: RequestFiles) -> pl.DataFrame:
    """Return item_id and is_right (null if the prompt failed) of the items that have a stored answer.

    Args:
        items: file, item_id and prompt_key.
    """
    answers = read_stored_answers(evaluation, items.lazy().select("prompt_key").unique(), evaluation.scoring)
    answered = items.join(answers, on="prompt_key", how="semi")
    of_edition = {Path(path).name: ref for path, ref in evaluation.row_files().items()}
    of_requests = {Path(ref.path).name: ref for ref in requests.files}

    def judge_files() -> Iterator[pl.DataFrame]:
        for (name,), rows in answered.partition_by("file", as_dict=True).items():
            frame = read_stage_file(evaluation.root / of_requests[str(name)].path, REQUESTS)
            frame = frame.join(rows, on="item_id", how="semi", maintain_order="left")
            _, predictions = score_file(evaluation, frame, of_edition[str(name)], answers, evaluation.scoring)
            yield predictions.select("item_id", is_right="is_correct")

    return pl.concat([pl.DataFrame(schema={"item_id": pl.String, "is_right": pl.Boolean}), *judge_files()])


def list_weighed_items(evaluation: Evaluation, requests: RequestFiles) -> pl.DataFrame:
    """Return file, item_id, unit_id, group, weight, cell, turn and prompt_key of the items to choose from."""
    keys = scan_requests(evaluation, requests).select("item_id", "prompt_key").collect()
    parts = [
        asked.items.select(pl.lit(asked.file).alias("file"), "item_id", *PAIR, "weight", "cell", "turn")
        for asked in read_items(evaluation)
    ]
    return pl.concat(parts).join(keys, on="item_id", how="left", maintain_order="left")


def plan_looks(evaluation: Evaluation, items: pl.DataFrame) -> list[float]:
    """Return the shares of the pairs after which the evaluation may end; the last is 1."""
    return list_looks(items["unit_id"].n_unique(), has_precision=evaluation.precision is not None)


def find_needed_items(evaluation: Evaluation, requests: RequestFiles) -> pl.DataFrame:
    """Return the item_id of the items of an evaluation that are scored, from the stored answers."""
    items = list_weighed_items(evaluation, requests)
    judged = add_outcomes(items, judge_items(evaluation, items, requests))
    return select_needed(judged, plan_looks(evaluation, items))


def read_clusters(evaluation: Evaluation) -> pl.DataFrame:
    """Return unit_id, head, and the tails of the true and of the false triplet of each test pair."""
    paths = [
        evaluation.root / path
        for path in read_manifest_files(evaluation.root, evaluation.edition_id, TRIPLETS.name)
    ]
    names = pl.col("head", "tail").str.to_lowercase()
    tested = scan_parquet_files(paths, TRIPLETS.empty.schema).filter(split="test").with_columns(names)
    tail = pl.col("tail").filter
    return (
        tested.group_by(unit_id="pair_id")
        .agg(
            pl.col("head").first(),
            true_tail=tail(pl.col("is_positive")).first(),
            false_tail=tail(~pl.col("is_positive")).first(),
        )
        .collect()
    )
