"""The functions of the tasks of lm-eval that ask questions. README.md says how to run them."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from exports.graded_samples import (
    compute_accuracy,
    compute_joint_accuracy,
    estimate_accuracy_error,
    estimate_joint_error,
)
from exports.lm_eval_metrics import aggregate, read_rows
from exports.question_answer_reading import grade_question, read_question_answer


def load_questions(**_: object) -> dict[str, Any]:
    """Return the questions as the split `test`, without any network."""
    return read_rows(Path(__file__).with_name("questions.jsonl"))


def process_chat(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Grade the response to a question that was sent as a chat message."""
    return _grade(doc, results, "chat")


def process_completion(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Grade the response to a question that was sent as a text to continue."""
    return _grade(doc, results, "completion")


def _grade(doc: dict[str, Any], results: Sequence[str], prompt_style: str) -> dict[str, Any]:
    answer = read_question_answer(results[0] or "", doc, prompt_style)
    item = astuple(grade_question(doc, is_right=answer == doc["target"]))
    graded = dict.fromkeys(("accuracy", f"accuracy_{doc['type']}", "mastered_points"), item)
    # lm-eval shows a metric of this name as the standard error of the other one. It has none of its own for
    # them, because it would take the questions for independent.
    errors = {f"{name}_stderr": item for name in graded}
    return {**graded, **errors, "no_answer_rate": answer is None}


accuracy = aggregate(compute_accuracy)
accuracy_stderr = aggregate(estimate_accuracy_error)
mastered_points = aggregate(compute_joint_accuracy)
mastered_points_stderr = aggregate(estimate_joint_error)
