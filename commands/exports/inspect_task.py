"""The tasks of inspect_ai that ask about one edition. README.md beside this file says how to run them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate

from commands.exports.grading import Grade, compute_joint_accuracy, compute_mastery, grade_row, read_row

FOLDER = Path(__file__).parent


@task
def pretexeval(method: str = "", prompt_style: str = "chat") -> Task:
    """Ask whether the statements of one method are true.

    Args:
        method: how the statements were made; by default the first method of the edition.
        prompt_style: chat, or completion for models of the provider openai-api-completions.
    """
    methods = [name for name in _read_record()["files"] if name != "questions"]
    method = method or next(iter(methods), "")
    if method not in methods:
        raise ValueError(f"method is {method!r}; this edition has {', '.join(methods) or 'no samples'}")
    return _build_task(method, true_or_false(prompt_style), prompt_style)


@task
def multifaceteval(prompt_style: str = "chat") -> Task:
    """Ask the questions of four types about the points of the edition."""
    if "questions" not in _read_record()["files"]:
        raise ValueError("this edition has no questions")
    return _build_task("questions", right_answer(prompt_style), prompt_style)


def _read_record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads((FOLDER / "export.json").read_text(encoding="utf-8"))
    return record


def _build_task(name: str, scorer: Scorer, prompt_style: str) -> Task:
    if prompt_style not in ("chat", "completion"):
        raise ValueError(f"prompt_style is {prompt_style!r}; give chat or completion")
    record = _read_record()
    asked = record["files"][name]
    return Task(
        dataset=json_dataset(str(FOLDER / f"{name}.jsonl"), _read_sample),
        solver=generate(),
        scorer=scorer,
        config=GenerateConfig(
            max_tokens=asked["max_tokens"],
            temperature=0.0,
            stop_seqs=asked["stop"] if prompt_style == "completion" else None,
        ),
        metadata={"edition_id": record["edition_id"], "method": name, "prompt_style": prompt_style},
    )


def _read_sample(row: dict[str, Any]) -> Sample:
    metadata = {name: value for name, value in row.items() if name not in ("prompt", "target")}
    row_id = row["question_id"] if "point_id" in row else row["sample_id"]
    return Sample(input=row["prompt"], target=row["target"], id=row_id, metadata=metadata)


def define_metric(name: str, compute: Callable[[list[Grade]], float]) -> Callable[[], Metric]:
    """Return a metric that computes its value from the grades; of several epochs, all must be right."""

    def measure(scores: list[SampleScore]) -> float:
        rows = [(score.sample_metadata or {}, score.score.value in (CORRECT, 1, 1.0)) for score in scores]
        return compute([grade_row(row, is_right=is_right) for row, is_right in rows])

    build: Callable[[], Metric] = metric(name=name)(lambda: measure)
    return build


joint_accuracy = define_metric("joint_accuracy", compute_joint_accuracy)
mastery = define_metric("mastery", compute_mastery)
mastered_points = define_metric("mastered_points", compute_joint_accuracy)


@metric
def no_answer_rate() -> Metric:
    """Share of the samples or questions whose response contains no answer."""

    def measure(scores: list[SampleScore]) -> float:
        return sum(score.score.answer is None for score in scores) / len(scores) if scores else float("nan")

    return measure


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="pair_id"),
        joint_accuracy(),
        mastery(),
        no_answer_rate(),
        grouped(accuracy(), "relation", all=False, name_template="relation {group_name}"),
        grouped(accuracy(), "transformation", all=False, name_template="transformation {group_name}"),
    ]
)
def true_or_false(prompt_style: str) -> Scorer:
    """Read true, false or no answer from a response, and compare it with the label."""
    return _build_scorer(prompt_style)


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="point_id"),
        mastered_points(),
        no_answer_rate(),
        grouped(accuracy(), "type", all=False, name_template="type {group_name}"),
        grouped(accuracy(), "relation", all=False, name_template="relation {group_name}"),
    ]
)
def right_answer(prompt_style: str) -> Scorer:
    """Read the answer to a question from a response, and compare it with the right one."""
    return _build_scorer(prompt_style)


def _build_scorer(prompt_style: str) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        answer = read_row(response, state.metadata, prompt_style)
        if answer is None:
            return Score(value=NOANSWER, answer=None, explanation=response)
        value = CORRECT if answer == target.text else INCORRECT
        return Score(value=value, answer=answer, explanation=response)

    return score
