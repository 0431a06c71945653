"""README.md of an export: what the files hold, how a tool runs them, and where the facts come from."""

from collections.abc import Mapping
from math import ceil

from commands.exports.rows import COLUMNS
from commands.exports.tables import QUESTION_TABLE, SAMPLE_TABLE, ExportedEdition
from commands.exports.tool_tasks import (
    QUESTION_COLUMNS,
    QUESTION_TOKENS,
    SAMPLE_COLUMNS,
    SAMPLE_TOKENS,
    list_lm_eval_tasks,
)
from schemas.question_stages import QUESTIONS

QUESTION_MEANINGS = {
    "prompt": "the exact text that an evaluation sends in the setting answer_only",
    "target": "right answer: letter (MCQ), sorted letters (MAQ), T or F (TFQ), judgement|letter (RQ)",
    "n_in_point": "how many questions a complete point has; if it has them and all are right, it is mastered",
}
"""The columns of questions.jsonl that are not in the Parquet file, or differ from it."""
SOURCE = (
    "The facts come from the knowledge base {kb}. An edition does not hold where each fact was published; "
    "the base may name it."
)
INSPECT = """## Run it

```
export LOCAL_BASE_URL=http://127.0.0.1:8000/v1 LOCAL_API_KEY=none
{commands}
```

Of each two `inspect` lines, the first one sends each prompt as one chat message, the second one as a text to
continue. Other arguments of a task: `-T system_prompt=…`, and for samples `-T method=…`. At most
{max_tokens} are generated; a model that thinks needs more: `--max-tokens 2000`.

inspect_ai keeps a whole log in memory. Ask a large edition in parts of at most {part_size} samples or
questions: `-T part=1/{n_parts}` to `-T part={n_parts}/{n_parts}`. Import their logs one after the other with
the same `--revision NAME`; the model counts as evaluated when the last one is imported.
"""
PART_SIZE = 20_000
INSPECT_COMMANDS = """inspect eval task.py@{name} --model openai-api/local/MODEL
inspect eval task.py@{name} --model openai-api-completions/local/MODEL -T prompt_style=completion"""
BATCH = """## Run it

```
vllm run-batch -i {first} -o answers.jsonl --model ORG/NAME --served-model-name model
```

For a batch of another service of this form, put the name of its model in place of `model` first. At most
{max_tokens} are generated.
"""
LM_EVAL = """## Run it

```
{commands}
```

Of each two commands, the first one sends each prompt as one chat message, the second one as a text to
continue. All tasks: {tasks}. At most {max_tokens}
are generated; a model that thinks needs more: `--gen_kwargs max_gen_toks=2000`.
"""
LM_EVAL_COMMANDS = """lm_eval --include_path . --tasks {chat} \\
    --model local-chat-completions --apply_chat_template --log_samples --output_path results \\
    --model_args model=MODEL,base_url=http://127.0.0.1:8000/v1/chat/completions,num_concurrent=32
lm_eval --include_path . --tasks {completion} \\
    --model local-completions --log_samples --output_path results \\
    --model_args model=MODEL,base_url=http://127.0.0.1:8000/v1/completions,num_concurrent=32,tokenizer_backend=None"""
IMPORT = """The responses come back with

```
pretexeval import-responses {log} --edition {edition_id} --model MODEL{option}
```
"""


def render_readme(edition: ExportedEdition, target: str) -> str:
    """Return the README of an export for this target: inspect, lm-eval, parquet or croissant."""
    parts = [f"# {edition.edition_id}\n", edition.describe() + "\n"]
    if target in ("inspect", "lm-eval"):
        parts.append(_render_usage(edition, target))
        if edition.n_samples:
            columns = {name: COLUMNS[name] for name in SAMPLE_COLUMNS}
            parts.append(_render_columns("<method>.jsonl", SAMPLE_TABLE.row, columns))
        if edition.n_questions:
            meanings = QUESTION_TABLE.meanings | QUESTION_MEANINGS
            columns = {name: meanings[name] for name in QUESTION_COLUMNS}
            parts.append(_render_columns("questions.jsonl", QUESTION_TABLE.row, columns))
    elif target == "batch":
        parts.append(_render_batch(edition))
    else:
        parts += [_render_columns(table.file, table.row, table.meanings) for table in edition.tables]
    source = SOURCE.format(kb=edition.manifest.get("kb"))
    parts.append(f"## Source and licence\n\n{source}\n\nLicence: {edition.licence}\n")
    return "\n".join(parts)


def _render_columns(file: str, row: str, columns: Mapping[str, str]) -> str:
    rows = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in columns.items())
    head = f"## The columns of `{file}`\n\nOne row per {row}.\n\n"
    return f"{head}| column | meaning |\n| --- | --- |\n{rows}\n"


def _render_batch(edition: ExportedEdition) -> str:
    first = next(iter([*edition.n_samples, QUESTIONS.name]))
    text = BATCH.format(first=f"{first}.jsonl", max_tokens=" and ".join(_list_tokens(edition)))
    return f"{text}\n{_render_import(edition, 'answers.jsonl')}"


def _list_tokens(edition: ExportedEdition) -> list[str]:
    tokens = [f"{SAMPLE_TOKENS} tokens per sample"] if edition.n_samples else []
    return tokens + ([f"{QUESTION_TOKENS} tokens per question"] if edition.n_questions else [])


def _render_import(edition: ExportedEdition, log: str) -> str:
    return IMPORT.format(log=log, edition_id=edition.edition_id, option=edition.option)


def _render_usage(edition: ExportedEdition, target: str) -> str:
    if target == "inspect":
        names = (["pretexeval"] if edition.n_samples else []) + (
            ["multifaceteval"] if edition.n_questions else []
        )
        template, commands, tasks = INSPECT, [INSPECT_COMMANDS.format(name=name) for name in names], []
        log = "logs/NAME.eval"
    else:
        tasks = list_lm_eval_tasks(edition.edition_id, edition.n_samples, edition.n_questions)
        # The samples of one method, and the questions.
        shown = {task.asked == QUESTIONS.name: task.asked for task in reversed(tasks)}.values()
        pairs = [{task.style: task.name for task in tasks if task.asked == asked} for asked in shown]
        template, commands = LM_EVAL, [LM_EVAL_COMMANDS.format(**pair) for pair in pairs]
        log = "results/MODEL/samples_TASK_TIME.jsonl"
    text = template.format(
        commands="\n".join(commands),
        max_tokens=" and ".join(_list_tokens(edition)),
        part_size=f"{PART_SIZE:,}",
        n_parts=max(2, ceil(max([*edition.n_samples.values(), edition.n_questions]) / PART_SIZE)),
        tasks=", ".join(f"`{task.name}`" for task in tasks),
    )
    return f"{text}\n{_render_import(edition, log)}"
