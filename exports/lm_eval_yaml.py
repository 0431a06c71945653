"""The YAML files of the tasks of lm-eval: one per prompt style for each method, and for the questions."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exports.generation import QUESTION_STOP_TEXTS, QUESTION_TOKENS, SAMPLE_TOKENS, STOP_TEXTS
from schemas.question_stages import TYPES

STYLES = ("chat", "completion")
SAMPLE_METRICS = ("accuracy", "joint_accuracy", "mastery")
QUESTION_METRICS = ("accuracy", "mastered_points", *(f"accuracy_{kind}" for kind in TYPES))
QUESTIONS = "questions"


@dataclass(frozen=True)
class LmEvalTask:
    """A task of lm-eval: the samples of one method or the questions of an edition, in one prompt style."""

    edition_id: str
    asked: str
    """The method of the samples, or `questions`."""
    style: str

    @property
    def name(self) -> str:
        """The name of the task."""
        return f"{self.edition_id}_{self.asked}_{self.style}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.asked}_{self.style}.yaml"

    def render(self) -> str:
        """Return the content of its file."""
        is_question = self.asked == QUESTIONS
        functions = "question_functions" if is_question else "functions"
        max_tokens = QUESTION_TOKENS if is_question else SAMPLE_TOKENS
        stop = QUESTION_STOP_TEXTS if is_question else STOP_TEXTS
        method = "" if is_question else f", method: {_quote(self.asked)}"
        lines = [
            f"task: {_quote(self.name)}",
            f"custom_dataset: !function {functions}.load_{QUESTIONS if is_question else 'samples'}",
            f"metadata: {{version: 1.0{method}}}",
            "test_split: test",
            "output_type: generate_until",
            "num_fewshot: 0",
            "doc_to_text: prompt",
            "doc_to_target: target",
            "generation_kwargs:",
            "  do_sample: false",
            "  temperature: 0.0",
            f"  max_gen_toks: {max_tokens}",
            f"  until: {_quote(list(stop) if self.style == 'completion' else [])}",
            f"process_results: !function {functions}.process_{self.style}",
            "metric_list:",
        ]
        lines += _render_metrics(QUESTION_METRICS if is_question else SAMPLE_METRICS, functions)
        return "\n".join(lines) + "\n"


def list_lm_eval_tasks(edition_id: str, methods: Iterable[str], n_questions: int) -> list[LmEvalTask]:
    """Return the tasks of an edition: of each method in both styles, then of the questions if it has any."""
    asked = [*methods, *([QUESTIONS] if n_questions else [])]
    return [LmEvalTask(edition_id, name, style) for name in asked for style in STYLES]


def _render_metrics(names: Sequence[str], functions: str) -> list[str]:
    metrics = [(name, True) for name in names]
    metrics += [(f"{name}_stderr", False) for name in names]
    metrics.append(("no_answer_rate", False))
    lines = []
    for name, is_better in metrics:
        lines += [
            f"  - metric: {name}",
            f"    aggregation: !function {functions}.{_name_function(name)}",
            f"    higher_is_better: {_quote(is_better)}",
        ]
    return lines


def _name_function(metric: str) -> str:
    """Return the function that computes a metric: the accuracy of one type of questions is an accuracy."""
    for kind in TYPES:
        metric = metric.replace(f"accuracy_{kind}", "accuracy")
    return metric


def _quote(value: object) -> str:
    # Every JSON value is a YAML value.
    return json.dumps(value)
