"""The folders with which inspect_ai and lm-eval run an edition: its samples, its questions, or both."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from exports.bundle import bundle_modules
from exports.generation import QUESTION_STOP_TEXTS, QUESTION_TOKENS, SAMPLE_TOKENS, STOP_TEXTS
from exports.lm_eval_yaml import list_lm_eval_tasks
from exports.rows import sort_methods

RECORD = "export.json"
READING = ("tasks.asking.answer_extraction", "tasks.asking.thoughts", "exports.graded_samples")
SAMPLE_MODULES = (*READING, "exports.answer_reading")
QUESTION_MODULES = (
    *READING,
    "tasks.answers.options",
    "tasks.answers.letters",
    "tasks.answers.segments",
    "tasks.answers.text_rules",
    "tasks.answers.letter_rules",
    "tasks.answers.judgements",
    "tasks.answers.reading",
    "exports.question_answer_reading",
)
SOURCES = {
    ("inspect", "samples"): ("task.py", (*SAMPLE_MODULES, "exports.inspect_metrics", "exports.inspect_task")),
    ("inspect", "questions"): (
        "question_task.py",
        (*QUESTION_MODULES, "exports.inspect_metrics", "exports.inspect_question_task"),
    ),
    ("lm-eval", "samples"): (
        "functions.py",
        (*SAMPLE_MODULES, "exports.lm_eval_metrics", "exports.lm_eval_task"),
    ),
    ("lm-eval", "questions"): (
        "question_functions.py",
        (*QUESTION_MODULES, "exports.lm_eval_metrics", "exports.lm_eval_question_task"),
    ),
}
"""Tool and what is asked -> the file with the code of the task, and the modules that are copied into it."""
# The columns that a task needs; the rest is in the Parquet file.
SAMPLE_COLUMNS = (
    "sample_id",
    "prompt",
    "target",
    "method",
    "relation",
    "transformation",
    "triplet_id",
    "pair_id",
    "n_in_triplet",
    "head",
    "tail",
    "is_positive",
    "text",
)
QUESTION_COLUMNS = (
    "question_id",
    "prompt",
    "target",
    "point_id",
    "n_in_point",
    "relation",
    "head",
    "facet",
    "type",
    "is_negated",
    "text",
    "options",
    "offered",
)


def write_task_samples(folder: Path, relations: Iterable[pl.DataFrame]) -> dict[str, int]:
    """Write the tested samples of each method as JSON lines; return method -> number of samples."""
    counts: dict[str, int] = {}
    for rows in relations:
        tested = rows.filter(pl.col("split") == "test").select(SAMPLE_COLUMNS)
        for (method,), group in tested.partition_by("method", as_dict=True, maintain_order=True).items():
            _append_rows(folder / f"{method}.jsonl", group)
            counts[str(method)] = counts.get(str(method), 0) + group.height
    return sort_methods(counts)


def write_task_questions(folder: Path, relations: Iterable[pl.DataFrame]) -> int:
    """Write the tested questions as JSON lines; return their number."""
    n_questions = 0
    for rows in relations:
        tested = rows.filter(pl.col("split") == "test").with_columns(pl.col("answer").alias("target"))
        _append_rows(folder / "questions.jsonl", tested.select(QUESTION_COLUMNS))
        n_questions += tested.height
    return n_questions


def _append_rows(path: Path, rows: pl.DataFrame) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows.iter_rows(named=True))


def write_tasks(
    folder: Path, tool: str, edition_id: str, methods: Mapping[str, int], n_questions: int
) -> None:
    """Write the code of the tasks of a tool, the YAML files of lm-eval, and export.json.

    Args:
        methods: method -> number of samples in the folder.
        n_questions: number of questions in the folder.
    """
    record: dict[str, object] = {"tool": tool, "edition_id": edition_id}
    if methods:
        record |= {
            "methods": list(methods),
            "n_samples": dict(methods),
            "max_tokens": SAMPLE_TOKENS,
            "stop": list(STOP_TEXTS),
        }
        _write_source(folder, tool, "samples")
    if n_questions:
        stop = list(QUESTION_STOP_TEXTS)
        record["questions"] = {"n_questions": n_questions, "max_tokens": QUESTION_TOKENS, "stop": stop}
        _write_source(folder, tool, "questions")
    if tool == "lm-eval":
        for task in list_lm_eval_tasks(edition_id, methods, n_questions):
            (folder / task.file).write_text(task.render(), encoding="utf-8")
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _write_source(folder: Path, tool: str, subject: str) -> None:
    name, modules = SOURCES[tool, subject]
    (folder / name).write_text(bundle_modules(modules), encoding="utf-8")
