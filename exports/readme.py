"""README.md of an export: what the files hold, how a tool runs them, and where the facts come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exports.rows import COLUMNS
from exports.tables import QUESTION_TABLE, SAMPLE_TABLE, ExportedTable
from exports.tool_tasks import STYLES, TASK_COLUMNS, name_lm_eval_task

LICENCE = (
    "Unknown: this edition records no licence of its knowledge base. Whether it may be passed on depends on "
    "the licence of that base."
)
SOURCE = (
    "The facts come from the knowledge base {kb}. An edition does not hold where each fact was published; "
    "the base may name it."
)
INSPECT = """## Run it

```
export LOCAL_BASE_URL=http://127.0.0.1:8000/v1 LOCAL_API_KEY=none
inspect eval task.py --model openai-api/local/MODEL
inspect eval task.py --model openai-api-completions/local/MODEL -T prompt_style=completion
```

The first `inspect` line sends each prompt as one chat message, the second one as a text to continue. Other
arguments of the task: `-T method=…`, `-T system_prompt=…`, `-T opening_mark=…`, `-T closing_mark=…`. At most
{max_tokens} tokens are generated; a model that thinks needs more: `--max-tokens 2000`.
"""
LM_EVAL = """## Run it

```
lm_eval --include_path . --tasks {chat} \\
    --model local-chat-completions --apply_chat_template --log_samples --output_path results \\
    --model_args model=MODEL,base_url=http://127.0.0.1:8000/v1/chat/completions,num_concurrent=32
lm_eval --include_path . --tasks {completion} \\
    --model local-completions --log_samples --output_path results \\
    --model_args model=MODEL,base_url=http://127.0.0.1:8000/v1/completions,num_concurrent=32,tokenizer_backend=None
```

The first command sends each prompt as one chat message, the second one as a text to continue. All tasks:
{tasks}. At most {max_tokens} tokens are generated; a model that thinks needs
more: `--gen_kwargs max_gen_toks=2000`.
"""
IMPORT = """The responses come back with

```
pretexeval import-responses {log} --edition {edition_id} --model MODEL
```
"""


@dataclass(frozen=True)
class ExportedEdition:
    """What a README says of an edition."""

    manifest: Mapping[str, Any]
    n_samples: Mapping[str, int]
    """Method -> number of tested samples."""
    n_questions: int
    """Number of tested questions in the files."""
    max_tokens: int

    @property
    def edition_id(self) -> str:
        """The name of the edition."""
        return str(self.manifest["edition_id"])

    @property
    def tables(self) -> list[ExportedTable]:
        """The tables that the edition fills."""
        samples = [SAMPLE_TABLE] if self.n_samples else []
        return samples + ([QUESTION_TABLE] if self.n_questions else [])

    def describe(self) -> str:
        """Return one paragraph about the edition."""
        counts = [f"{n:,} samples by the method {method}" for method, n in self.n_samples.items()]
        counts += [f"{self.n_questions:,} questions"] if self.n_questions else []
        return (
            f"The edition {self.edition_id} of a test of knowledge. Samples are statements that are true or "
            "false relative to a knowledge base, each triplet in several logically transformed wordings "
            "(PretexEval); questions are of four types (MultifacetEval). "
            f"Tested: {', '.join(counts)}. Knowledge base: {self.manifest.get('kb')}; "
            f"seed: {self.manifest.get('seed')}; negatives: {self.manifest.get('negatives')}; "
            f"rephraser: {self.manifest.get('rephraser')}."
        )


def render_readme(edition: ExportedEdition, target: str) -> str:
    """Return the README of an export for this target: inspect, lm-eval, parquet or croissant."""
    is_task = target in ("inspect", "lm-eval")
    parts = [f"# {edition.edition_id}\n", edition.describe() + "\n"]
    if is_task:
        parts.append(_render_usage(edition, target))
        columns = {name: COLUMNS[name] for name in TASK_COLUMNS}
        parts.append(_render_columns("<method>.jsonl", SAMPLE_TABLE.row, columns))
    else:
        parts += [_render_columns(table.file, table.row, table.meanings) for table in edition.tables]
    parts.append(
        f"## Source and licence\n\n{SOURCE.format(kb=edition.manifest.get('kb'))}\n\nLicence: {LICENCE}\n"
    )
    return "\n".join(parts)


def _render_columns(file: str, row: str, columns: Mapping[str, str]) -> str:
    rows = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in columns.items())
    head = f"## The columns of `{file}`\n\nOne row per {row}.\n\n"
    return f"{head}| column | meaning |\n| --- | --- |\n{rows}\n"


def _render_usage(edition: ExportedEdition, target: str) -> str:
    tasks = {
        style: [name_lm_eval_task(edition.edition_id, method, style) for method in edition.n_samples]
        for style in STYLES
    }
    values = {
        "edition_id": edition.edition_id,
        "max_tokens": edition.max_tokens,
        "chat": tasks["chat"][0],
        "completion": tasks["completion"][0],
        "tasks": ", ".join(f"`{name}`" for names in tasks.values() for name in names),
        "log": "logs/NAME.eval" if target == "inspect" else "results/MODEL/samples_TASK_TIME.jsonl",
    }
    return ((INSPECT if target == "inspect" else LM_EVAL) + "\n" + IMPORT).format(**values)
