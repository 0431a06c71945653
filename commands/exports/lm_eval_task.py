"""The functions of the tasks of lm-eval beside this file. README.md says how to run them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commands.exports.grading import (
    compute_accuracy,
    compute_joint_accuracy,
    compute_mastery,
    grade_row,
    read_row,
)


def load_rows(file: str, **_: object) -> dict[str, Any]:
    """Return the rows of a file as the split `test`, without any network."""
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
    if "point_id" in doc:
        names = ("accuracy", f"accuracy_{doc['type']}", "mastered_points")
    else:
        names = ("accuracy", "joint_accuracy", "mastery")
    grade = grade_row(doc, is_right=answer == doc["target"])
    return {**dict.fromkeys(names, grade), "no_answer_rate": answer is None}


def no_answer_rate(items: Sequence[bool]) -> float:
    """Return the share of the samples or questions whose response contains no answer."""
    return sum(items) / len(items) if items else float("nan")


# The names under which the YAML files name them.
accuracy = compute_accuracy
joint_accuracy = compute_joint_accuracy
mastery = compute_mastery
mastered_points = compute_joint_accuracy
