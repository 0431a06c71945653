"""The statements of one edition as a task of inspect_ai. README.md beside this file says how to run it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate, system_message

from exports.answer_reading import read_prediction
from exports.graded_samples import (
    GradedSample,
    compute_joint_accuracy,
    compute_mastery,
    estimate_joint_error,
    estimate_mastery_error,
)
from exports.inspect_metrics import build_metric, no_answer_rate

FOLDER = Path(__file__).parent
METADATA = [
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
]


@task
def pretexeval(
    method: str = "",
    prompt_style: str = "chat",
    system_prompt: str = "",
    opening_mark: str = "<think>",
    closing_mark: str = "</think>",
) -> Task:
    """Ask whether the statements of one method are true.

    Args:
        method: how the statements were made; by default the first method of the edition.
        prompt_style: chat, or completion for models of the provider openai-api-completions.
        system_prompt: text of a system turn, only in chat style; by default there is none.
        opening_mark: the text that opens a thought; empty if the chat template opens it.
        closing_mark: the text that closes a thought; empty if nothing is a mark.
    """
    record = json.loads((FOLDER / "export.json").read_text(encoding="utf-8"))
    method = method or record["methods"][0]
    if method not in record["methods"]:
        raise ValueError(f"method is {method!r}; this edition has {', '.join(record['methods'])}")
    if prompt_style not in ("chat", "completion"):
        raise ValueError(f"prompt_style is {prompt_style!r}; give chat or completion")
    return Task(
        dataset=json_dataset(
            str(FOLDER / f"{method}.jsonl"),
            FieldSpec(input="prompt", target="target", id="sample_id", metadata=METADATA),
        ),
        solver=[*([system_message(system_prompt)] if system_prompt else []), generate()],
        scorer=true_or_false(prompt_style, opening_mark, closing_mark),
        config=GenerateConfig(
            max_tokens=record["max_tokens"],
            temperature=0.0,
            stop_seqs=record["stop"] if prompt_style == "completion" else None,
        ),
        metadata={"edition_id": record["edition_id"], "method": method, "prompt_style": prompt_style},
    )


def _grade(sample: Mapping[str, Any], is_right: bool) -> GradedSample:
    ids = str(sample["pair_id"]), str(sample["triplet_id"])
    return GradedSample(*ids, int(sample["n_in_triplet"]), is_right)


@metric
def joint_accuracy() -> Metric:
    """Share of the complete triplets whose samples are all right."""
    return build_metric(compute_joint_accuracy, _grade)


@metric
def joint_accuracy_stderr() -> Metric:
    """Standard error of the joint accuracy, with the pair as the cluster."""
    return build_metric(estimate_joint_error, _grade)


@metric
def mastery() -> Metric:
    """Share of the complete pairs of a true and a false triplet whose samples are all right."""
    return build_metric(compute_mastery, _grade)


@metric
def mastery_stderr() -> Metric:
    """Standard error of the mastery."""
    return build_metric(estimate_mastery_error, _grade)


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="pair_id"),
        joint_accuracy(),
        joint_accuracy_stderr(),
        mastery(),
        mastery_stderr(),
        no_answer_rate(),
        grouped(accuracy(), "relation", all=False, name_template="relation {group_name}"),
        grouped(accuracy(), "transformation", all=False, name_template="transformation {group_name}"),
    ]
)
def true_or_false(prompt_style: str, opening_mark: str, closing_mark: str) -> Scorer:
    """Read true, false or no answer from a response, and compare it with the label."""

    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        prediction = read_prediction(response, prompt_style, opening_mark, closing_mark)
        if prediction is None:
            return Score(value=NOANSWER, answer=None, explanation=response)
        is_right = str(prediction) == target.text
        return Score(value=CORRECT if is_right else INCORRECT, answer=str(prediction), explanation=response)

    return score
