"""The folders with which inspect_ai and lm-eval run an edition: its samples, its questions, or both."""

import ast
import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from pretexeval.config.engines import ModelConfig
from pretexeval.config.questions import QuestionsConfig
from schemas.question_stages import QUESTIONS, TYPES
from tasks.asking.prompts import QUESTION_STOP_TEXTS, SAMPLE_STOP_TEXTS

# As much as an evaluation lets a model generate by default.
SAMPLE_TOKENS: int = ModelConfig.model_fields["max_tokens"].default
QUESTION_TOKENS: int = QuestionsConfig.model_fields["max_tokens"].default
COPIED = (
    "pretexeval.engines.thoughts",
    "tasks.answers.unwrapping",
    "tasks.answers.letters",
    "tasks.answers.segments",
    "tasks.answers.text_rules",
    "tasks.answers.letter_rules",
    "tasks.answers.judgements",
    "tasks.answers.reading",
    "commands.exports.grading",
)
"""The modules that are copied into the code of a task, each after those that it imports."""
# The words and phrases by which answers are read. The code finds them in its own folder.
WORDS = files("tasks.answers") / "words.toml"
CODE = {
    "inspect": ("task.py", "commands.exports.inspect_task"),
    "lm-eval": ("functions.py", "commands.exports.lm_eval_task"),
}
"""Tool -> the file with the code of its tasks, and the module that comes last in it."""
STYLES = ("chat", "completion")
SAMPLE_METRICS = ("accuracy", "joint_accuracy", "mastery", "no_answer_rate")
QUESTION_METRICS = ("accuracy", "mastered_points", "no_answer_rate", *(f"accuracy_{kind}" for kind in TYPES))
LM_EVAL_TASK = """\
task: {task}
custom_dataset: !function functions.load_rows
metadata: {{version: 1.0, file: {name}.jsonl}}
test_split: test
output_type: generate_until
num_fewshot: 0
doc_to_text: prompt
doc_to_target: target
generation_kwargs:
  do_sample: false
  temperature: 0.0
  max_gen_toks: {max_tokens}
  until: {stop}
process_results: !function functions.process_{style}
metric_list:
"""
LM_EVAL_METRIC = """\
  - metric: {name}
    aggregation: !function functions.{function}
    higher_is_better: {is_better}
"""


def count_tokens(name: str) -> int:
    """Return how many tokens are generated for a row of a method or of `questions`."""
    return QUESTION_TOKENS if name == QUESTIONS.name else SAMPLE_TOKENS


def write_tasks(folder: Path, tool: str, edition_id: str, names: Iterable[str]) -> None:
    """Write the code of the tasks of a tool, export.json, and the YAML files of lm-eval.

    Args:
        names: the files of JSON lines in the folder: methods, and `questions`.
    """
    stops = {name: QUESTION_STOP_TEXTS if name == QUESTIONS.name else SAMPLE_STOP_TEXTS for name in names}
    asked = {name: {"max_tokens": count_tokens(name), "stop": list(stop)} for name, stop in stops.items()}
    record = json.dumps({"edition_id": edition_id, "files": asked}, indent=2)
    (folder / "export.json").write_text(record + "\n", encoding="utf-8")
    file, module = CODE[tool]
    (folder / file).write_text(bundle_modules((*COPIED, module)), encoding="utf-8")
    (folder / WORDS.name).write_text(WORDS.read_text(encoding="utf-8"), encoding="utf-8")
    if tool == "lm-eval":
        for name in asked:
            for style in STYLES:
                text = _render_lm_eval_task(edition_id, name, style, asked[name])
                (folder / f"{name}_{style}.yaml").write_text(text, encoding="utf-8")


def _render_lm_eval_task(edition_id: str, name: str, style: str, asked: Mapping[str, object]) -> str:
    text = LM_EVAL_TASK.format(
        task=f"{edition_id}_{name}_{style}",
        name=name,
        max_tokens=asked["max_tokens"],
        # Every JSON value is a YAML value.
        stop=json.dumps(asked["stop"] if style == "completion" else []),
        style=style,
    )
    for metric in QUESTION_METRICS if name == QUESTIONS.name else SAMPLE_METRICS:
        text += LM_EVAL_METRIC.format(
            name=metric,
            # The accuracy of one type of questions is an accuracy.
            function="accuracy" if metric.startswith("accuracy") else metric,
            is_better=json.dumps(metric != "no_answer_rate"),
        )
    return text


def bundle_modules(names: Sequence[str]) -> str:
    """Return the source of the modules as one module, whose docstring is that of the last one.

    Imports of each other are dropped, and all other imports stand at the top. No two modules may define the
    same name.

    Raises:
        ValueError: a module imports a module of this project that is not in the bundle.
    """
    own = {name.partition(".")[0] for name in names}
    imports: set[str] = set()
    bodies, docstring = [], ""
    for name in names:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).read_text(encoding="utf-8")
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
        bodies.append("\n".join(source.splitlines()[kept_from:]).strip("\n"))
    head = "\n".join([f'"""{docstring}"""\n', *sorted(imports)])
    return "\n\n\n".join([head, *bodies]) + "\n"
