"""The folders with which inspect_ai and lm-eval run an edition."""

import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from config.engines import ModelConfig
from exports.bundle import bundle_modules
from exports.rows import sort_methods
from tasks.asking.prompts import STOP_TEXTS

RECORD = "export.json"
SHARED_MODULES = (
    "tasks.asking.answer_extraction",
    "tasks.asking.thoughts",
    "exports.answer_reading",
    "exports.graded_samples",
)
MAX_TOKENS: int = ModelConfig.model_fields["max_tokens"].default
STYLES = ("chat", "completion")
LM_EVAL_METRICS = ("accuracy", "joint_accuracy", "mastery")
# The columns that a task needs; the rest is in the Parquet file.
TASK_COLUMNS = (
    "sample_id",
    "prompt",
    "target",
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
)


def write_inspect(folder: Path, edition_id: str, relations: Iterable[pl.DataFrame]) -> dict[str, int]:
    """Write task.py, one file of samples per method, and export.json; return method -> number of samples."""
    methods = _write_samples(folder, relations)
    _write_record(folder, "inspect", edition_id, methods)
    source = bundle_modules([*SHARED_MODULES, "exports.inspect_task"])
    (folder / "task.py").write_text(source, encoding="utf-8")
    return methods


def write_lm_eval(folder: Path, edition_id: str, relations: Iterable[pl.DataFrame]) -> dict[str, int]:
    """Write the functions of the tasks, one YAML file per method and prompt style, samples and export.json.

    Return method -> number of samples.
    """
    methods = _write_samples(folder, relations)
    _write_record(folder, "lm-eval", edition_id, methods)
    source = bundle_modules([*SHARED_MODULES, "exports.lm_eval_task"])
    (folder / "functions.py").write_text(source, encoding="utf-8")
    for method in methods:
        for style in STYLES:
            task = name_lm_eval_task(edition_id, method, style)
            (folder / f"{method}_{style}.yaml").write_text(
                _render_yaml(task, method, style), encoding="utf-8"
            )
    return methods


def name_lm_eval_task(edition_id: str, method: str, style: str) -> str:
    """Return the name of a task of lm-eval."""
    return f"{edition_id}_{method}_{style}"


def _write_samples(folder: Path, relations: Iterable[pl.DataFrame]) -> dict[str, int]:
    """Write the tested samples of each method as JSON lines; return method -> number of samples."""
    counts: dict[str, int] = {}
    for rows in relations:
        tested = rows.filter(pl.col("split") == "test").select(TASK_COLUMNS)
        for (method,), group in tested.partition_by("method", as_dict=True, maintain_order=True).items():
            with (folder / f"{method}.jsonl").open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(
                    f"{json.dumps(row, ensure_ascii=False)}\n" for row in group.iter_rows(named=True)
                )
            counts[str(method)] = counts.get(str(method), 0) + group.height
    return sort_methods(counts)


def _write_record(folder: Path, tool: str, edition_id: str, methods: dict[str, int]) -> None:
    record = {
        "tool": tool,
        "edition_id": edition_id,
        "methods": list(methods),
        "n_samples": methods,
        "max_tokens": MAX_TOKENS,
        "stop": list(STOP_TEXTS),
    }
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _render_yaml(task: str, method: str, style: str) -> str:
    metrics = [(name, True) for name in LM_EVAL_METRICS]
    metrics += [(f"{name}_stderr", False) for name in LM_EVAL_METRICS]
    metrics.append(("no_answer_rate", False))
    lines = [
        f"task: {_quote(task)}",
        "custom_dataset: !function functions.load_samples",
        f"metadata: {{version: 1.0, method: {_quote(method)}}}",
        "test_split: test",
        "output_type: generate_until",
        "num_fewshot: 0",
        "doc_to_text: prompt",
        "doc_to_target: target",
        "generation_kwargs:",
        "  do_sample: false",
        "  temperature: 0.0",
        f"  max_gen_toks: {MAX_TOKENS}",
        f"  until: {_quote(list(STOP_TEXTS) if style == 'completion' else [])}",
        f"process_results: !function functions.process_{style}",
        "metric_list:",
    ]
    for name, is_better in metrics:
        lines += [
            f"  - metric: {name}",
            f"    aggregation: !function functions.{name}",
            f"    higher_is_better: {_quote(is_better)}",
        ]
    return "\n".join(lines) + "\n"


def _quote(value: object) -> str:
    # Every JSON value is a YAML value.
    return json.dumps(value)
