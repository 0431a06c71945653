"""The questions of one edition as a task of inspect_ai. README.md beside this file says how to run it."""

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

from exports.graded_samples import GradedSample, compute_joint_accuracy, estimate_joint_error
from exports.inspect_metrics import build_metric, no_answer_rate
from exports.question_answer_reading import grade_question, read_question_answer

FOLDER = Path(__file__).parent
METADATA = [
    "question_id",
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
]


@task
def multifaceteval(
    prompt_style: str = "chat",
    system_prompt: str = "",
    opening_mark: str = "<think>",
    closing_mark: str = "</think>",
) -> Task:
    """Ask the questions of four types about the points of the edition.

    Args:
        prompt_style: chat, or completion for models of the provider openai-api-completions.
        system_prompt: text of a system turn, only in chat style; by default there is none.
        opening_mark: the text that opens a thought; empty if the chat template opens it.
        closing_mark: the text that closes a thought; empty if nothing is a mark.
    """
    record = json.loads((FOLDER / "export.json").read_text(encoding="utf-8"))
    if prompt_style not in ("chat", "completion"):
        raise ValueError(f"prompt_style is {prompt_style!r}; give chat or completion")
    asked = record["questions"]
    return Task(
        dataset=json_dataset(
            str(FOLDER / "questions.jsonl"),
            FieldSpec(input="prompt", target="target", id="question_id", metadata=METADATA),
        ),
        solver=[*([system_message(system_prompt)] if system_prompt else []), generate()],
        scorer=right_answer(prompt_style, opening_mark, closing_mark),
        config=GenerateConfig(
            max_tokens=asked["max_tokens"],
            temperature=0.0,
            stop_seqs=asked["stop"] if prompt_style == "completion" else None,
        ),
        metadata={"edition_id": record["edition_id"], "prompt_style": prompt_style},
    )


def _grade(question: Mapping[str, Any], is_right: bool) -> GradedSample:
    return grade_question(question, is_right=is_right)


@metric
def mastered_points() -> Metric:
    """Share of the complete points all of whose questions are right."""
    return build_metric(compute_joint_accuracy, _grade)


@metric
def mastered_points_stderr() -> Metric:
    """Standard error of the share of mastered points."""
    return build_metric(estimate_joint_error, _grade)


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="point_id"),
        mastered_points(),
        mastered_points_stderr(),
        no_answer_rate(),
        grouped(accuracy(), "type", all=False, name_template="type {group_name}"),
        grouped(accuracy(), "relation", all=False, name_template="relation {group_name}"),
    ]
)
def right_answer(prompt_style: str, opening_mark: str, closing_mark: str) -> Scorer:
    """Read the answer to a question from a response, and compare it with the right one."""

    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        answer = read_question_answer(response, state.metadata, prompt_style, opening_mark, closing_mark)
        if answer is None:
            return Score(value=NOANSWER, answer=None, explanation=response)
        is_right = answer == target.text
        return Score(value=CORRECT if is_right else INCORRECT, answer=answer, explanation=response)

    return score
