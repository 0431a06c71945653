"""Files of recorded responses for import: tables with one row per response, and logs of other tools.

docs/models.md describes the tables, docs/other-tools.md the logs.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import pydantic
from pydantic import Field, TypeAdapter, ValidationError

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.primitives.untrusted_text import replace_surrogates

ID_COLUMNS = ("question_id", "sample_id")
TEXT_COLUMNS = ("response", "error", "finish_reason", "reasoning")
COLUMNS = (*ID_COLUMNS, "repeat", *TEXT_COLUMNS)
MAX_SHOWN = 20
NO_RESPONSE = "the imported file has no response"
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""Errors that reading a line or a log of an unexpected form raises."""
Row = dict[str, Any]


@pydantic.dataclasses.dataclass(frozen=True)
class RecordedRow:
    """One response to a question or sample, or the reason why there is none."""

    row_id: Annotated[str, Field(min_length=1)]
    repeat: Annotated[int, Field(strict=True, ge=0, lt=1000)] = 0
    response: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = None


ROWS = TypeAdapter(list[RecordedRow])


@dataclass(frozen=True)
class RecordedFile:
    """The rows of a file, and the column that holds their ids: question_id or sample_id."""

    path: Path
    id_column: str
    rows: list[RecordedRow]
    prompt_style: str | None = None
    """Prompt style of the model, chat or completion; None if the file does not say it."""


def read_recorded_file(path: Path) -> RecordedFile:
    """Return the rows of a Parquet file, of JSON lines, of a log of inspect_ai or lm-eval, or of a batch.

    Raises:
        InputError: the file cannot be read, it has no column of ids or both, or a row is broken; the message
            names the first broken rows.
    """
    style: str | None = None
    if path.suffix == ".parquet":
        values = _read_parquet(path)
    elif path.suffix == ".json":
        values, style = _read_inspect_log(path)
    elif path.suffix in (".jsonl", ".ndjson"):
        values, style = _read_json_lines(path)
    else:
        raise InputError(
            f"{path}: the name of the file must end in .parquet, .jsonl or .ndjson, or in .json for a log of "
            "inspect_ai, which `inspect log dump LOG.eval > LOG.json` writes"
        )
    columns = {name for row in values for name in row}
    named = [name for name in ID_COLUMNS if name in columns]
    if len(named) != 1 or "response" not in columns:
        raise InputError(
            f"{path}: the rows need the column response, and either question_id or sample_id; found: "
            f"{', '.join(sorted(columns)) or 'no rows'}"
        )
    try:
        rows = ROWS.validate_python([_build_row(row, named[0]) for row in values])
    except ValidationError as error:
        problems = [
            f"row {int(detail['loc'][0]) + 1}, {str(detail['loc'][1]).replace('row_id', named[0])}: "
            f"{detail['input']!r:.40}: {detail['msg']}"
            for detail in error.errors()
        ]
        raise InputError(
            f"{path}: {list_some(problems, 'broken cells')}; correct them and import again"
        ) from error
    return RecordedFile(path, named[0], rows, style)


def list_some(items: list[str], noun: str) -> str:
    """Return the number of the items and the first of them, for a message."""
    more = f", and {len(items) - MAX_SHOWN:,} more" if len(items) > MAX_SHOWN else ""
    return f"{len(items):,} {noun}: {', '.join(items[:MAX_SHOWN])}{more}"


def _build_row(row: Row, id_column: str) -> Row:
    """Return the fields of a RecordedRow: a response, or the error why there is none."""
    if row.get("error") or row.get("response") is None:
        row = {**row, **dict.fromkeys(TEXT_COLUMNS), "error": row.get("error") or NO_RESPONSE}
    texts = {name: row.get(name) for name in TEXT_COLUMNS} | {"row_id": row.get(id_column)}
    fields = {k: replace_surrogates(text) if isinstance(text, str) else text for k, text in texts.items()}
    return fields | {"repeat": row.get("repeat", 0)}


def _read_parquet(path: Path) -> list[Row]:
    try:
        frame = read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    return frame.select([name for name in COLUMNS if name in frame.columns]).to_dicts()


def _read_inspect_log(path: Path) -> tuple[list[Row], str | None]:
    """Return one row per sample and epoch, and the prompt style that the task was given; None if unknown."""
    try:
        log = json.loads(path.read_bytes())
        rows = [_read_inspect_sample(sample) for sample in log.get("samples") or []]
        style = log["eval"]["task_args"].get("prompt_style", "chat")
    except (OSError, *MALFORMED) as error:
        raise InputError(f"{path}: not a log of inspect_ai that can be read ({error!r})") from error
    if not rows:
        raise InputError(f"{path}: the log of inspect_ai has no samples; import the log of a complete run")
    return rows, style


def _read_inspect_sample(sample: Mapping[str, Any]) -> Row:
    # The exported task of questions puts their ids into the metadata, too.
    name = "question_id" if "question_id" in (sample.get("metadata") or {}) else "sample_id"
    row = {name: sample["id"], "repeat": int(sample.get("epoch", 1)) - 1, "response": None}
    output = sample.get("output") or {}
    error, choices = sample.get("error") or output.get("error"), output.get("choices")
    if error or not choices:
        message = error["message"] if isinstance(error, dict) else error
        return row | {"error": message or "the log has no output of the model for this sample"}
    content = choices[0]["message"]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = {
        kind: "".join(part[kind] for part in parts if part["type"] == kind) for kind in ("text", "reasoning")
    }
    return row | {
        "response": texts["text"],
        "reasoning": texts["reasoning"] or None,
        "finish_reason": choices[0].get("stop_reason"),
    }


def _read_json_lines(path: Path) -> tuple[list[Row], str | None]:
    """Return the rows of a table, of a log of lm-eval or of a batch, and the prompt style of the last one."""
    try:
        # Only a line feed ends a row: str.splitlines would also split at separators within a response.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text in UTF-8 ({error})") from error
    values: list[Row] = []
    style: str | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise TypeError("it is no JSON object")
            if "resps" in row and any(name in row.get("doc", ()) for name in ID_COLUMNS):
                values += _read_lm_eval_row(row)
                style = _read_lm_eval_style(row)
            elif "custom_id" in row:
                values.append(_read_batch_reply(row))
                style = "chat"
            else:
                values.append({name: row[name] for name in COLUMNS if name in row})
        except MALFORMED as error:
            raise InputError(
                f"{path}, line {number}: not a JSON object with a response, a sample of lm-eval or a reply "
                f"of a batch ({error!r})"
            ) from error
    return values, style


def _read_lm_eval_row(row: Mapping[str, Any]) -> Iterator[Row]:
    """Yield one row per response: several if the task was given `repeats`."""
    name = next(name for name in ID_COLUMNS if name in row["doc"])
    (responses,) = row["resps"]
    if not responses or not isinstance(responses, list):
        raise ValueError("resps is no list with a list of responses")
    for repeat, response in enumerate(responses):
        yield {name: row["doc"][name], "repeat": repeat, "response": response}


def _read_lm_eval_style(row: Mapping[str, Any]) -> str:
    """Return chat or completion: only in completion style is the prompt sent as it is in the data."""
    sent = row.get("arguments", {}).get("gen_args_0", {}).get("arg_0")
    return "completion" if sent is not None and sent == row["doc"].get("prompt") else "chat"


def _read_batch_reply(row: Mapping[str, Any]) -> Row:
    """Return the row of a reply to a request of an export to `batch`."""
    name, _, row_id = str(row["custom_id"]).partition(":")
    if name not in ID_COLUMNS:
        raise ValueError(f"custom_id is {row['custom_id']!r}, which no export has")
    reply = row.get("response") or {}
    if row.get("error") or reply["status_code"] != 200:
        return {name: row_id, "response": None, "error": str(row.get("error") or reply)[:500]}
    choice = reply["body"]["choices"][0]
    message = choice["message"]
    return {
        name: row_id,
        "response": message["content"],
        "finish_reason": choice.get("finish_reason"),
        "reasoning": message.get("reasoning") or message.get("reasoning_content"),
    }
