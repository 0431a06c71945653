"""Read the stored answers to requests, and score them, file by file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.primitives.literal_paths import scan_parquet_files
from pretexeval.storage.files import read_stage_file
from pretexeval.storage.records import read_manifest_files
from schemas.stages import REQUESTS, TRIPLETS
from tasks.asking.reasoning import READ_COLUMNS, read_answers
from tasks.evaluation.asked_items import AskedItems, read_items
from tasks.evaluation.enough import PAIR, add_outcomes, list_looks, select_needed
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.predictions import read_responses, score_readings
from tasks.evaluation.request_files import RequestFiles


def read_stored_answers(evaluation: Evaluation, keys: pl.LazyFrame) -> pl.DataFrame:
    """Return prompt_key, repeat and the columns of `read_answers` of the stored responses to these prompts.

    Args:
        keys: the column prompt_key.
    """
    responses = evaluation.store.read(["prompt_key", "repeat", *READ_COLUMNS], keys)
    model, max_tokens = evaluation.model, evaluation.request_settings.sampling.max_tokens
    return read_answers(
        responses,
        model.reasoning_marks,
        is_chat=model.prompt_style == "chat",
        max_tokens=None if model.engine == "imported" else max_tokens,
    )


def score_file(
    evaluation: Evaluation,
    requests: pl.DataFrame,
    items: pl.DataFrame,
    answers: pl.DataFrame,
    policies: tuple[str, ...],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the readings and the predictions of requests about one file of the edition.

    Args:
        answers: as `read_stored_answers` returns them.
    """
    kind, is_reasoned = evaluation.subject.kind, evaluation.subject.is_reasoned
    readings = read_responses(kind, requests, items, answers, is_reasoned=is_reasoned)
    return readings, score_readings(kind, readings, items, policies)


@dataclass(frozen=True)
class AskedFile:
    """The tested items of one file of the edition, and the requests about them."""

    asked: AskedItems
    requests: pl.DataFrame


def read_asked_files(evaluation: Evaluation, requests: RequestFiles) -> dict[str, AskedFile]:
    """Return the name of each file with asked items -> the items and the requests, all of them in memory."""
    frames = {
        Path(ref.path).name: read_stage_file(evaluation.root / ref.path, REQUESTS) for ref in requests.files
    }
    return {asked.file: AskedFile(asked, frames[asked.file]) for asked in read_items(evaluation)}


def list_weighed_items(files: Mapping[str, AskedFile]) -> pl.DataFrame:
    """Return file, item_id, unit_id, group, weight, cell, turn and prompt_key of the items to choose from."""
    return pl.concat(
        file.asked.items.select(pl.lit(name).alias("file"), "item_id", *PAIR, "weight", "cell", "turn").join(
            file.requests.select("item_id", "prompt_key"), on="item_id", how="left", maintain_order="left"
        )
        for name, file in files.items()
    )


def judge_items(evaluation: Evaluation, items: pl.DataFrame, files: Mapping[str, AskedFile]) -> pl.DataFrame:
    """Return item_id and is_right (null if the prompt failed) of the items that have a stored answer.

    Args:
        items: file, item_id and prompt_key.
    """
    answers = read_stored_answers(evaluation, items.lazy().select("prompt_key").unique())
    answered = items.join(answers, on="prompt_key", how="semi")

    def judge_files() -> Iterator[pl.DataFrame]:
        for (name,), rows in answered.partition_by("file", as_dict=True).items():
            file = files[str(name)]
            frame = file.requests.join(rows, on="item_id", how="semi", maintain_order="left")
            policies = evaluation.scoring.policies
            _, predictions = score_file(evaluation, frame, file.asked.items, answers, policies)
            yield predictions.select("item_id", is_right="is_correct")

    return pl.concat([pl.DataFrame(schema={"item_id": pl.String, "is_right": pl.Boolean}), *judge_files()])


def plan_looks(evaluation: Evaluation, items: pl.DataFrame) -> list[float]:
    """Return the shares of the pairs after which the evaluation may end; the last is 1."""
    return list_looks(items["unit_id"].n_unique(), has_precision=evaluation.scoring.precision is not None)


def find_needed_items(evaluation: Evaluation, requests: RequestFiles) -> pl.DataFrame:
    """Return the item_id of the items of an evaluation that are scored, from the stored answers."""
    files = read_asked_files(evaluation, requests)
    items = list_weighed_items(files)
    judged = add_outcomes(items, judge_items(evaluation, items, files))
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
