"""Export an edition for another tool, as a new folder with a README that appears whole or not at all."""

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from commands.exports.every_eval_ever import write_results
from commands.exports.rows import (
    QUESTION_COLUMNS,
    SAMPLE_COLUMNS,
    read_question_relations,
    read_sample_relations,
)
from commands.exports.tool_tasks import CODE, STYLES, count_tokens, write_tasks
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.storage.records import read_manifest, require_intact
from schemas.question_stages import QUESTIONS

RESULTS = "every-eval-ever"
"""The target that gets the results of models; the others get the edition itself."""
# The columns that a task needs; the rest is in the Parquet file.
TASK_COLUMNS = (
    *("sample_id", "question_id", "prompt", "target", "method", "relation", "transformation", "triplet_id"),
    *("pair_id", "n_in_triplet", "point_id", "n_in_point", "head", "tail", "is_positive"),
    *("facet", "type", "is_negated", "text", "options", "offered"),
)
README = """\
# {edition_id}

The edition {edition_id} of a test of knowledge. Samples are statements that are true or false relative to a
knowledge base, each triplet in several logically transformed wordings (PretexEval: Zhou et al., Reliable and
diverse evaluation of LLM medical knowledge mastery, ICLR 2025); questions are of four types (MultifacetEval:
Zhou et al., IJCAI 2024).

Tested: {counts}. Knowledge base: {kb}; seed: {seed}; negatives: {negatives}; rephraser: {rephraser}. An
edition does not record the licence of its base or where each fact was published; the base may.
"""
IMPORT = """
The responses come back with

```
pretexeval import-responses {log} --edition {edition_id} --model MODEL{option}
```
"""
BATCH = """
## Run it

```
vllm run-batch -i {name}.jsonl -o answers.jsonl --model ORG/NAME --served-model-name model
```

For a batch of another service of this form, put the name of its model in place of `model` first.
"""
INSPECT = """
## Run it

```
export LOCAL_BASE_URL=http://127.0.0.1:8000/v1 LOCAL_API_KEY=none
{commands}
inspect log dump logs/NAME.eval > NAME.json
```

The first `inspect eval` line of each task sends each prompt as one chat message, the second one as a text to
continue. `-T method=NAME` asks the samples of another method. At most {max_tokens} are generated; a
model that thinks needs more: `--max-tokens 2000`.

inspect_ai keeps a whole log in memory. Ask a large edition in parts: `--limit 1-20000`, `--limit 20001-40000`
and so on. Import their logs one after the other with the same `--revision NAME`; the model counts as
evaluated when the last one is imported.
"""
INSPECT_COMMANDS = """\
inspect eval task.py@{task} --model openai-api/local/MODEL
inspect eval task.py@{task} --model openai-api-completions/local/MODEL -T prompt_style=completion"""
LM_EVAL = """
## Run it

```
{commands}
```

The first command of each task sends each prompt as one chat message, the second one as a text to continue.
All tasks: {tasks}. At most {max_tokens} are generated; a model that thinks needs more:
`--gen_kwargs max_gen_toks=2000`.
"""
LM_EVAL_COMMANDS = """\
lm_eval --include_path . --tasks {edition_id}_{name}_chat \\
    --model local-chat-completions --apply_chat_template --log_samples --output_path results \\
    --model_args model=MODEL,base_url=http://127.0.0.1:8000/v1/chat/completions,num_concurrent=32
lm_eval --include_path . --tasks {edition_id}_{name}_completion \\
    --model local-completions --log_samples --output_path results \\
    --model_args model=MODEL,base_url=http://127.0.0.1:8000/v1/completions,num_concurrent=32,tokenizer_backend=None"""
LOGS = {
    "inspect": "NAME.json",
    "lm-eval": "results/MODEL/samples_TASK_TIME.jsonl",
    "batch": "answers.jsonl",
}


def export_edition(
    root: Path,
    edition_id: str,
    target: str,
    folder: Path,
    pairs_per_relation: int | None = None,
) -> None:
    """Write the edition into a new folder for a target of `pretexeval export`, or its results for RESULTS.

    The same edition and the same results give the same bytes.

    Args:
        pairs_per_relation: how many pairs or points are tested, as in a model's table; None: all of them.

    Raises:
        InputError: the edition is not complete or was damaged, or the folder holds something else.
    """
    if pairs_per_relation is not None and pairs_per_relation < 1:
        raise InputError(f"{pairs_per_relation} pairs per relation cannot be exported; give 1 or more")
    require_intact(root, edition_id)
    manifest = {"edition_id": edition_id, **read_manifest(root, edition_id)}
    if target == RESULTS:
        if pairs_per_relation is not None:
            raise InputError(f"an export to {RESULTS} has all results; leave out --pairs-per-relation")
        with write_folder(folder) as temporary:
            write_results(temporary, root, manifest)
        return
    option = "" if pairs_per_relation is None else f" --pairs-per-relation {pairs_per_relation}"
    samples = read_sample_relations(root, edition_id, pairs_per_relation)
    questions = read_question_relations(root, edition_id, pairs_per_relation)
    with write_folder(folder) as temporary:
        if target == "parquet":
            counts = _write_table(temporary / "samples.parquet", samples)
            counts += _write_table(temporary / "questions.parquet", questions)
        else:
            counts = _write_lines(temporary, samples, target)
            counts += _write_lines(temporary, questions, target)
        if target in CODE:
            write_tasks(temporary, target, edition_id, counts)
        text = _render_readme(manifest, target, counts, option)
        (temporary / "README.md").write_text(text, encoding="utf-8")


@contextlib.contextmanager
def write_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to ``target`` when the block ends without an error.

    Raises:
        InputError: the target exists and is no empty folder.
    """
    target = target.resolve()
    if not target.name or (target.exists() and not (target.is_dir() and not any(target.iterdir()))):
        raise InputError(f"{target} exists, and nothing was written; name a folder that does not exist yet")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as parent:
        temporary = Path(parent) / target.name
        temporary.mkdir()
        yield temporary
        # The name of a folder that exists may only be taken by a folder if it is empty.
        temporary.rename(target)


def _write_table(path: Path, relations: Iterable[pl.DataFrame]) -> Counter[str]:
    """Write all rows with one row group per relation; return method or `questions` -> tested rows."""
    counts = Counter[str]()
    with contextlib.ExitStack() as stack:
        writer = None
        for rows in relations:
            table = rows.to_arrow()
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd"))
            writer.write_table(table)
            counts.update(_name_rows(rows.filter(split="test")))
    return counts


def _name_rows(rows: pl.DataFrame) -> pl.Series:
    """Return the name of the file of each row: the method of a sample, or `questions`."""
    if "method" in rows.columns:
        return rows["method"]
    return pl.Series("method", [QUESTIONS.name]).new_from_index(0, rows.height)


def _write_lines(folder: Path, relations: Iterable[pl.DataFrame], target: str) -> Counter[str]:
    """Write the tested rows of each method as JSON lines; return method or `questions` -> number of rows."""
    counts = Counter[str]()
    for rows in relations:
        tested = rows.filter(split="test")
        columns = [column for column in TASK_COLUMNS if column in rows.columns]
        for (name,), group in tested.group_by(_name_rows(tested), maintain_order=True):
            with (folder / f"{name}.jsonl").open("a", encoding="utf-8", newline="\n") as file:
                for row in group.select(columns).iter_rows(named=True):
                    line = _build_batch_request(str(name), row) if target == "batch" else row
                    file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
            counts[str(name)] += group.height
    return counts


def _build_batch_request(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request for a sample or a question in the form of OpenAI's Batch API."""
    key = "question_id" if name == QUESTIONS.name else "sample_id"
    return {
        "custom_id": f"{key}:{row[key]}",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "model",
            "messages": [{"role": "user", "content": row["prompt"]}],
            "max_tokens": count_tokens(name),
            "temperature": 0,
        },
    }


def _render_readme(manifest: Mapping[str, Any], target: str, counts: Mapping[str, int], option: str) -> str:
    """Return the README: what is tested, how a tool runs it, and what the columns mean."""
    edition_id = manifest["edition_id"]
    gate = manifest.get("configuration", {}).get("rephraser", {}).get("gate")
    unchecked = ", whose rewordings nobody checked" if gate == "off" else ""
    named = [
        count_noun(n, "question")
        if name == QUESTIONS.name
        else f"{count_noun(n, 'sample')} by the method {name}"
        for name, n in counts.items()
    ]
    text = README.format(
        edition_id=edition_id,
        counts=", ".join(named),
        rephraser=f"{manifest.get('rephraser')}{unchecked}",
        **{name: manifest.get(name) for name in ("kb", "seed", "negatives")},
    )
    # The samples of one method, and the questions.
    first: dict[bool, str] = {}
    for name in counts:
        first.setdefault(name == QUESTIONS.name, name)
    shown = list(first.values())
    nouns = [
        f"{count_tokens(name)} tokens per {'question' if name == QUESTIONS.name else 'sample'}"
        for name in shown
    ]
    max_tokens = " and ".join(nouns)
    if target == "batch":
        text += BATCH.format(name=shown[0])
    if target == "inspect":
        tasks = ["multifaceteval" if name == QUESTIONS.name else "pretexeval" for name in shown]
        commands = "\n".join(INSPECT_COMMANDS.format(task=task) for task in tasks)
        text += INSPECT.format(commands=commands, max_tokens=max_tokens)
    if target == "lm-eval":
        tasks = [f"`{edition_id}_{name}_{style}`" for name in counts for style in STYLES]
        commands = "\n".join(LM_EVAL_COMMANDS.format(edition_id=edition_id, name=name) for name in shown)
        text += LM_EVAL.format(commands=commands, tasks=", ".join(tasks), max_tokens=max_tokens)
    if target in LOGS:
        text += IMPORT.format(log=LOGS[target], edition_id=edition_id, option=option)
    if target != "batch":
        for name in shown:
            columns = QUESTION_COLUMNS if name == QUESTIONS.name else SAMPLE_COLUMNS
            text += f"\n## Columns of {'questions' if name == QUESTIONS.name else 'samples'}\n\n"
            text += "| column | meaning |\n| --- | --- |\n"
            is_shown = {column: target == "parquet" or column in TASK_COLUMNS for column in columns}
            text += "".join(f"| `{c}` | {meaning} |\n" for c, meaning in columns.items() if is_shown[c])
    return text
