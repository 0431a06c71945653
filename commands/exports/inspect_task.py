"""The tasks of inspect_ai that ask about one edition. README.md beside this file says how to run them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Dataset, Sample, json_dataset
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
from inspect_ai.solver import TaskState, generate, system_message

from commands.exports.grading import (
    GradedSample,
    compute_joint_accuracy,
    compute_mastery,
    estimate_joint_error,
    estimate_mastery_error,
    grade_row,
    read_row,
)

FOLDER = Path(__file__).parent


@task
def pretexeval(
    method: str = "",
    prompt_style: str = "chat",
    system_prompt: str = "",
    part: str = "1/1",
) -> Task:
    """Ask whether the statements of one method are true.

    Args:
        method: how the statements were made; by default the first method of the edition.
        prompt_style: chat, or completion for models of the provider openai-api-completions.
        system_prompt: text of a system turn, only in chat style; by default there is none.
        part: which part of the pairs is asked, such as 2/3; by default all.
    """
    record = _read_record()
    methods = record.get("methods", [])
    method = method or next(iter(methods), "")
    if method not in methods:
        raise ValueError(f"method is {method!r}; this edition has {', '.join(methods) or 'no samples'}")
    scorer = true_or_false(prompt_style)
    metadata = {"edition_id": record["edition_id"], "method": method}
    return _build_task(f"{method}.jsonl", scorer, record, metadata, prompt_style, system_prompt, part)


@task
def multifaceteval(
    prompt_style: str = "chat",
    system_prompt: str = "",
    part: str = "1/1",
) -> Task:
    """Ask the questions of four types about the points of the edition; arguments as for `pretexeval`."""
    record = _read_record()
    if "questions" not in record:
        raise ValueError("this edition has no questions")
    scorer = right_answer(prompt_style)
    metadata = {"edition_id": record["edition_id"]}
    asked = record["questions"]
    return _build_task("questions.jsonl", scorer, asked, metadata, prompt_style, system_prompt, part)


def _read_record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads((FOLDER / "export.json").read_text(encoding="utf-8"))
    return record


def _build_task(
    file: str,
    scorer: Scorer,
    asked: dict[str, Any],
    metadata: dict[str, str],
    prompt_style: str,
    system_prompt: str,
    part: str,
) -> Task:
    if prompt_style not in ("chat", "completion"):
        raise ValueError(f"prompt_style is {prompt_style!r}; give chat or completion")
    return Task(
        dataset=_select_part(json_dataset(str(FOLDER / file), _read_sample), part),
        solver=[*([system_message(system_prompt)] if system_prompt else []), generate()],
        scorer=scorer,
        config=GenerateConfig(
            max_tokens=asked["max_tokens"],
            temperature=0.0,
            stop_seqs=asked["stop"] if prompt_style == "completion" else None,
        ),
        metadata={**metadata, "prompt_style": prompt_style},
    )


def _select_part(samples: Dataset, part: str) -> Dataset:
    """Return the part k/n of the samples or questions: whole pairs or points, in their order."""
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", part)
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError(f"part is {part!r}; give for example 2/3, the second of three parts")
    number, n_parts = int(found[1]), int(found[2])
    groups = list(dict.fromkeys(map(_read_group, samples)))
    chosen = {group for k, group in enumerate(groups) if k * n_parts // len(groups) == number - 1}
    return samples.filter(lambda sample: _read_group(sample) in chosen)


def _read_group(sample: Sample) -> str:
    """Return the point of a question, or the pair of a sample."""
    metadata = sample.metadata or {}
    return str(metadata.get("point_id") or metadata["pair_id"])


def _read_sample(row: dict[str, Any]) -> Sample:
    metadata = {name: value for name, value in row.items() if name not in ("prompt", "target")}
    row_id = row["question_id"] if "point_id" in row else row["sample_id"]
    return Sample(input=row["prompt"], target=row["target"], id=row_id, metadata=metadata)


def define_metric(name: str, compute: Callable[[list[GradedSample]], float]) -> Callable[[], Metric]:
    """Return a metric that computes its value from the grades; of several epochs, all must be right."""

    def measure(scores: list[SampleScore]) -> float:
        rows = [(each.sample_metadata or {}, each.score.value in (CORRECT, 1, 1.0)) for each in scores]
        return compute([grade_row(row, is_right=is_right) for row, is_right in rows])

    build: Callable[[], Metric] = metric(name=name)(lambda: measure)
    return build


joint_accuracy = define_metric("joint_accuracy", compute_joint_accuracy)
joint_accuracy_stderr = define_metric("joint_accuracy_stderr", estimate_joint_error)
mastery = define_metric("mastery", compute_mastery)
mastery_stderr = define_metric("mastery_stderr", estimate_mastery_error)
mastered_points = define_metric("mastered_points", compute_joint_accuracy)
mastered_points_stderr = define_metric("mastered_points_stderr", estimate_joint_error)


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
        joint_accuracy_stderr(),
        mastery(),
        mastery_stderr(),
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
        mastered_points_stderr(),
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
