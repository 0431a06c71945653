"""The folders with which inspect_ai and lm-eval run an edition: its samples, its questions, or both."""

import ast
import importlib.util
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.config.engines import ModelConfig
from pretexeval.config.questions import QuestionsConfig
from schemas.question_stages import QUESTIONS, TYPES
from tasks.asking.prompts import QUESTION_STOP_TEXTS, SAMPLE_STOP_TEXTS

# As much as an evaluation lets a model generate by default.
SAMPLE_TOKENS: int = ModelConfig.model_fields["max_tokens"].default
QUESTION_TOKENS: int = QuestionsConfig.model_fields["max_tokens"].default
RECORD = "export.json"
COPIED = (
    "pretexeval.engines.thoughts",
    "tasks.asking.thoughts",
    "tasks.answers.unwrapping",
    "tasks.answers.letters",
    "tasks.answers.segments",
    "tasks.answers.text_rules",
    "tasks.answers.letter_rules",
    "tasks.answers.judgements",
    "tasks.answers.doubts",
    "tasks.answers.reading",
    "commands.exports.grading",
)
"""The modules that are copied into the code of a task, each after those that it imports."""
# The words and phrases by which answers are read. The code finds them in its own folder.
WORDS = files("tasks.answers") / "words.toml"
SOURCES = {
    "inspect": ("task.py", "commands.exports.inspect_task"),
    "lm-eval": ("functions.py", "commands.exports.lm_eval_task"),
}
"""Tool -> the file with the code of its tasks, and the module that comes last in it."""
STYLES = ("chat", "completion")
SAMPLE_METRICS = ("accuracy", "joint_accuracy", "mastery")
QUESTION_METRICS = ("accuracy", "mastered_points", *(f"accuracy_{kind}" for kind in TYPES))
# The columns that a task needs; the rest is in the Parquet file.
SAMPLE_COLUMNS = (
    *("sample_id", "prompt", "target", "method", "relation", "transformation", "triplet_id", "pair_id"),
    *("n_in_triplet", "head", "tail", "is_positive", "text"),
)
QUESTION_COLUMNS = (
    *("question_id", "prompt", "target", "point_id", "n_in_point", "relation", "head", "facet", "type"),
    *("is_negated", "text", "options", "offered"),
)


def write_rows(
    folder: Path,
    columns: Sequence[str],
    relations: Iterable[pl.DataFrame],
    build: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> Counter[str]:
    """Write the tested rows of each method as JSON lines; return method -> number of rows.

    Args:
        build: returns the object to write for a row of the columns.
    """
    counts = Counter[str]()
    for rows in relations:
        for (method,), group in rows.filter(split="test").group_by("method", maintain_order=True):
            with (folder / f"{method}.jsonl").open("a", encoding="utf-8", newline="\n") as file:
                named = group.select(columns).iter_rows(named=True)
                file.writelines(f"{json.dumps(build(row), ensure_ascii=False)}\n" for row in named)
            counts[str(method)] += group.height
    return counts


def build_batch_request(row: dict[str, Any]) -> dict[str, Any]:
    """Return the request for a sample or a question in the form of OpenAI's Batch API."""
    is_question = "question_id" in row
    name, max_tokens = ("question_id", QUESTION_TOKENS) if is_question else ("sample_id", SAMPLE_TOKENS)
    return {
        "custom_id": f"{name}:{row[name]}",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "model",
            "messages": [{"role": "user", "content": row["prompt"]}],
            "max_tokens": max_tokens,
            "temperature": 0,
        },
    }


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
            "stop": list(SAMPLE_STOP_TEXTS),
        }
    if n_questions:
        stop = list(QUESTION_STOP_TEXTS)
        record["questions"] = {"n_questions": n_questions, "max_tokens": QUESTION_TOKENS, "stop": stop}
    file, module = SOURCES[tool]
    (folder / file).write_text(bundle_modules((*COPIED, module)), encoding="utf-8")
    (folder / WORDS.name).write_text(WORDS.read_text(encoding="utf-8"), encoding="utf-8")
    if tool == "lm-eval":
        for task in list_lm_eval_tasks(edition_id, methods, n_questions):
            (folder / task.file).write_text(task.render(), encoding="utf-8")
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


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
        is_question = self.asked == QUESTIONS.name
        max_tokens = QUESTION_TOKENS if is_question else SAMPLE_TOKENS
        stop = QUESTION_STOP_TEXTS if is_question else SAMPLE_STOP_TEXTS
        method = "" if is_question else f", method: {_quote(self.asked)}"
        lines = [
            f"task: {_quote(self.name)}",
            f"custom_dataset: !function functions.load_{'questions' if is_question else 'samples'}",
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
            f"process_results: !function functions.process_{self.style}",
            "metric_list:",
        ]
        lines += _render_metrics(QUESTION_METRICS if is_question else SAMPLE_METRICS)
        return "\n".join(lines) + "\n"


def list_lm_eval_tasks(edition_id: str, methods: Iterable[str], n_questions: int) -> list[LmEvalTask]:
    """Return the tasks of an edition: of each method in both styles, then of the questions if it has any."""
    asked = [*methods, *([QUESTIONS.name] if n_questions else [])]
    return [LmEvalTask(edition_id, name, style) for name in asked for style in STYLES]


def _render_metrics(names: Sequence[str]) -> list[str]:
    metrics = [(name, True) for name in names]
    metrics += [(f"{name}_stderr", False) for name in names]
    metrics.append(("no_answer_rate", False))
    lines = []
    for name, is_better in metrics:
        lines += [
            f"  - metric: {name}",
            f"    aggregation: !function functions.{_name_function(name)}",
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


def bundle_modules(names: Sequence[str]) -> str:
    """Return the source of the modules as one module, whose docstring is that of the last one.

    Imports of each other are dropped, and all other imports stand at the top.

    Raises:
        ValueError: two modules define the same name, or one imports a module of this project that is not in
            the bundle.
    """
    own = {name.partition(".")[0] for name in names}
    imports: set[str] = set()
    bodies, docstring = [], ""
    definitions: dict[str, str] = {}
    for name in names:
        source = _read_source(name)
        tree = ast.parse(source)
        docstring = ast.get_docstring(tree, clean=False) or ""
        kept_from = 0
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                kept_from = node.end_lineno or 0
                module = getattr(node, "module", None) or ""
                if module.partition(".")[0] not in own:
                    imports.add(ast.unparse(node))
                elif module not in names:
                    raise ValueError(f"{module} must be in the bundle, because {name} imports it")
            for defined in _list_definitions(node):
                if (first := definitions.setdefault(defined, name)) != name:
                    raise ValueError(f"{first} and {name} both define {defined}; rename one of them")
        bodies.append("\n".join(source.splitlines()[kept_from:]).strip("\n"))
    head = "\n".join([f'"""{docstring}"""\n', *sorted(imports)])
    return "\n\n\n".join([head, *bodies]) + "\n"


def _read_source(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def _list_definitions(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
