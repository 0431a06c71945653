"""The functions of the tasks of lm-eval beside this file. README.md says how to run them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exports.answer_reading import read_prediction
from exports.graded_samples import (
    compute_accuracy,
    compute_joint_accuracy,
    compute_mastery,
    estimate_accuracy_error,
    estimate_joint_error,
    estimate_mastery_error,
)
from exports.lm_eval_metrics import Item, aggregate, read_rows


def load_samples(method: str = "pretexeval", **_: object) -> dict[str, Any]:
    """Return the samples of one method as the split `test`, without any network."""
    return read_rows(Path(__file__).with_name(f"{method}.jsonl"))


def process_chat(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Grade the response to a prompt that was sent as a chat message."""
    return _grade(doc, results, "chat")


def process_completion(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Grade the response to a prompt that was sent as a text to continue."""
    return _grade(doc, results, "completion")


def _grade(doc: dict[str, Any], results: Sequence[str], prompt_style: str) -> dict[str, Any]:
    prediction = read_prediction(results[0] or "", prompt_style)
    is_right = str(prediction) == doc["target"]
    item: Item = (doc["pair_id"], doc["triplet_id"], doc["n_in_triplet"], is_right)
    graded = dict.fromkeys(("accuracy", "joint_accuracy", "mastery"), item)
    # lm-eval shows a metric of this name as the standard error of the other one. It has none of its own for
    # them, because it would take the samples for independent.
    errors = {f"{name}_stderr": item for name in graded}
    return {**graded, **errors, "no_answer_rate": prediction is None}


accuracy = aggregate(compute_accuracy)
accuracy_stderr = aggregate(estimate_accuracy_error)
joint_accuracy = aggregate(compute_joint_accuracy)
joint_accuracy_stderr = aggregate(estimate_joint_error)
mastery = aggregate(compute_mastery)
mastery_stderr = aggregate(estimate_mastery_error)
