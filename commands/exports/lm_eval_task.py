"""The functions of the tasks of lm-eval beside this file. README.md says how to run them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from commands.exports.grading import (
    GradedSample,
    compute_accuracy,
    compute_joint_accuracy,
    compute_mastery,
    estimate_accuracy_error,
    estimate_joint_error,
    estimate_mastery_error,
    grade_row,
    read_row,
)

Item = tuple[str, str, int, bool]
"""The fields of a GradedSample."""


def load_samples(method: str = "pretexeval", **_: object) -> dict[str, Any]:
    """Return the samples of one method as the split `test`, without any network."""
    return _read_rows(f"{method}.jsonl")


def load_questions(**_: object) -> dict[str, Any]:
    """Return the questions as the split `test`, without any network."""
    return _read_rows("questions.jsonl")


def _read_rows(file: str) -> dict[str, Any]:
    from datasets import Dataset

    # Only a line feed ends a row: str.splitlines would also split at separators within a text.
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").split("\n")
    return {"test": Dataset.from_list([json.loads(line) for line in lines if line])}


def process_chat(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Grade the response to a prompt that was sent as a chat message."""
    return _grade(doc, results, "chat")


def process_completion(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Grade the response to a prompt that was sent as a text to continue."""
    return _grade(doc, results, "completion")


def _grade(doc: dict[str, Any], results: Sequence[str], prompt_style: str) -> dict[str, Any]:
    answer = read_row(results[0] or "", doc, prompt_style)
    item = astuple(grade_row(doc, is_right=answer == doc["target"]))
    if "point_id" in doc:
        names = ("accuracy", f"accuracy_{doc['type']}", "mastered_points")
    else:
        names = ("accuracy", "joint_accuracy", "mastery")
    # lm-eval shows a metric of this name as the standard error of the other one. It has none of its own for
    # them, because it would take the samples for independent.
    errors = (f"{name}_stderr" for name in names)
    return {**dict.fromkeys((*names, *errors), item), "no_answer_rate": answer is None}


def aggregate(compute: Callable[[list[GradedSample]], float]) -> Callable[[Sequence[Item]], float]:
    """Return a function that computes a metric of lm-eval from its items."""

    def compute_from_items(items: Sequence[Item]) -> float:
        return compute([GradedSample(*item) for item in items])

    return compute_from_items


def no_answer_rate(items: Sequence[bool]) -> float:
    """Return the share of the samples or questions whose response contains no answer."""
    return sum(items) / len(items) if items else float("nan")


accuracy = aggregate(compute_accuracy)
accuracy_stderr = aggregate(estimate_accuracy_error)
joint_accuracy = aggregate(compute_joint_accuracy)
joint_accuracy_stderr = aggregate(estimate_joint_error)
mastery = aggregate(compute_mastery)
mastery_stderr = aggregate(estimate_mastery_error)
mastered_points = aggregate(compute_joint_accuracy)
mastered_points_stderr = aggregate(estimate_joint_error)
