"""The published items of MultiMedQA as an edition, and the published responses as files to import."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.published_multimedqa import PublishedPoint, PublishedQuestion, read_published_points
from config.questions import Setting
from primitives.hashing import hash_json, hash_text
from schemas.question_stages import FACET_OF, QUESTIONS
from storage.files import write_stage_file
from storage.layout import edition_folder, manifest_file, stage_file
from storage.records import list_files, write_record
from tasks.asking.question_prompts import render_answer
from tasks.quality.validation import require_valid, validate_stage

RELATION = "medqa"
SETTINGS: dict[str, Setting] = {"ao": "answer_only", "cot": "chain_of_thought"}
AUTHORS = "-authors"
"""Suffix of the name of a model whose responses are the authors' predictions."""


@dataclass(frozen=True)
class ReplayedFile:
    """A file of responses of one model in one setting."""

    model: str
    setting: Setting
    path: Path


def write_published_edition(folder: Path, root: Path) -> str:
    """Write the published items as a complete edition, and return its name.

    Args:
        folder: the folder of the reference data.
        root: the data folder.
    """
    points = read_published_points(folder / "multifacet_questions.parquet")
    frame = pl.DataFrame(
        [_describe(point, *key) for point in points for key in point.questions],
        pl.DataFrame(QUESTIONS.schema.empty_table()).schema,
    )
    require_valid(validate_stage(QUESTIONS, frame, "the published items"))
    edition_id = f"multimedqa-published-{hash_json(frame['question_id'].sort().to_list(), digits=8)}"
    ref = write_stage_file(root, stage_file(edition_id, QUESTIONS.name, RELATION), frame, QUESTIONS)
    manifest = {
        "edition_id": edition_id,
        "kb": "multimedqa",
        "label": "published",
        "seed": 0,
        "negatives": "none",
        "pool": "none",
        "rephraser": "none",
        "methods": [],
        "n_pairs": 0,
        "configuration": {"source": "the 795 published items and their 5 demonstrations"},
        "left_out": [],
        "files": list_files([ref], edition_folder(edition_id)),
    }
    write_record(root / manifest_file(edition_id), manifest)
    return edition_id


def identify_question(number: int, kind: str, form: str) -> str:
    """Return the id of a published test question. Some texts are published twice, so it has the number."""
    return hash_text("published", "test", str(number), kind, form)


def write_responses(folder: Path, target: Path) -> Iterator[ReplayedFile]:
    """Write the raw responses and the predictions of the authors as files to import; yield them by model."""
    questions = pl.read_parquet(folder / "multifacet_questions.parquet").filter(split="test")
    for short, setting in SETTINGS.items():
        frames = [_read_responses(folder, short, kind, questions) for kind in FACET_OF]
        for (name,), rows in pl.concat(frames).partition_by("model", as_dict=True).items():
            raw = rows.explode("responses").rename({"responses": "response"})
            raw = raw.with_columns(repeat=pl.int_range(pl.len()).over("source_row"))
            said = rows.with_columns(response=pl.col("prediction"))
            for model, frame, columns in (
                (str(name), raw, ["question_id", "repeat", "response"]),
                (f"{name}{AUTHORS}", said, ["question_id", "response"]),
            ):
                path = target / f"{short}-{model}.parquet"
                frame.select(columns).write_parquet(path)
                yield ReplayedFile(model, setting, path)


def _read_responses(folder: Path, short: str, kind: str, questions: pl.DataFrame) -> pl.DataFrame:
    """Return one row per published row: model, source_row, question_id, responses and prediction in words."""
    rows = pl.read_parquet(folder / f"multifacet_{short}_{kind}.parquet")
    if "raw_response" in rows.columns:
        rows = rows.with_columns(raw_responses=pl.concat_list("raw_response"))
    keys = rows.select("knowledge_point", "form").iter_rows()
    return rows.select(
        "model",
        pl.format(f"{kind} {{}}", pl.int_range(pl.len())).alias("source_row"),
        pl.Series("question_id", [identify_question(number, kind, form) for number, form in keys]),
        responses="raw_responses",
        prediction=pl.Series([_say(kind, answer) for answer in rows["authors_prediction"]]),
    )


def _say(kind: str, prediction: str) -> str:
    """Return a prediction in words; nothing for no answer and for half an RQ, which are wrong in any case."""
    # In words, "T|" would be "True", which names the offered option.
    is_whole = bool(prediction) and not prediction.endswith("|")
    return render_answer(kind, prediction) if is_whole else ""


def _describe(point: PublishedPoint, kind: str, form: str) -> dict[str, object]:
    question: PublishedQuestion = point.questions[kind, form]
    is_test = point.split == "test"
    number = identify_question(point.number, kind, form)
    return {
        "question_id": number if is_test else hash_text("published", "held out", number),
        "point_id": hash_text("published", point.split, str(point.number)),
        "pair_id": None,
        "relation": RELATION,
        "head": None,
        "split": "test" if is_test else "demonstration",
        "facet": FACET_OF[kind],
        "type": kind,
        "is_negated": form.endswith("negated"),
        "text": question.text,
        "options": list(question.options),
        "answer": question.label,
        "offered": question.offered,
        "source": "MultifacetEval",
    }
