"""Files of recorded responses for import: tables with one row per response, and logs of other tools.

docs/models.md describes the tables, docs/other-tools.md the logs.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.primitives.untrusted_text import replace_surrogates

ID_COLUMNS = ("question_id", "sample_id")
SUFFIXES = (".eval", ".json")
MAX_ENTRY_BYTES = 256_000_000
"""A larger entry of an archive is refused: a small file could fill the memory."""
ZSTD = 93
"""The number of the compression method that the standard library knows from Python 3.14 on."""
LOCAL_HEADER_BYTES = 30
HEADERS = ("header.json", "_journal/start.json")
"""The entries that describe a run; only the second one is in the log of a run that was interrupted."""

UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, RecursionError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""Errors that reading a damaged archive or a damaged JSON file raises."""


def read_inspect_log(path: Path) -> tuple[list[dict[str, Any]], str | None]:
    """Return one row per sample and epoch, and the prompt style that the task was given; null if unknown.

    Raises:
        InputError: the file is no log of inspect_ai that can be read.
    """
    try:
        if path.suffix == ".eval":
            header, samples = _read_archive(path)
        else:
            header = _require_object(json.loads(path.read_bytes()))
            samples = list(header.get("samples") or [])
        rows = [_build_inspect_row(_require_object(sample)) for sample in samples]
        style = _require_object(_require_object(header.get("eval")).get("task_args")).get("prompt_style")
    except UNREADABLE as error:
        raise InputError(
            f"{path}: not a log of inspect_ai that can be read ({error}). If the run was interrupted, finish "
            "it with `inspect eval-retry`, and import the new log"
        ) from error
    if not rows:
        raise InputError(f"{path}: the log of inspect_ai has no samples; import the log of a complete run")
    return rows, style if style in ("chat", "completion") else None


def _read_archive(path: Path) -> tuple[dict[str, Any], list[object]]:
    """Return the description of the run and the samples of an .eval file."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        header = next((name for name in HEADERS if name in names), None)
        if header is None:
            raise ValueError(f"it has neither {' nor '.join(HEADERS)}")
        # Of a name that is there twice, the last entry counts.
        samples = dict.fromkeys(name for name in names if name.startswith("samples/") and _is_sample(name))
        return (
            _require_object(json.loads(_read_entry(path, archive, header))),
            [json.loads(_read_entry(path, archive, name)) for name in samples],
        )


def _is_sample(name: str) -> bool:
    """Return whether an entry is a sample; a very large one is a folder whose sample.json has the output."""
    parts = name.split("/")
    return (len(parts) == 2 and name.endswith(".json")) or (len(parts) == 3 and parts[2] == "sample.json")


def _read_entry(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > MAX_ENTRY_BYTES:
        raise ValueError(f"{name} has {info.file_size:,} bytes, more than {MAX_ENTRY_BYTES:,}")
    if info.compress_type != ZSTD:
        with archive.open(info) as entry:
            return entry.read(MAX_ENTRY_BYTES)
    with path.open("rb") as file:
        file.seek(info.header_offset)
        n_name, n_extra = struct.unpack("<HH", file.read(LOCAL_HEADER_BYTES)[26:])
        file.seek(n_name + n_extra, 1)
        compressed = file.read(info.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(compressed), "zstd") as stream:
        content: bytes = stream.read(info.file_size)
    if zlib.crc32(content) != info.CRC:
        raise ValueError(f"{name} is damaged")
    return content


def _require_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"an object is expected where it has {str(value)[:40]!r}")
    return value


def _build_inspect_row(sample: Mapping[str, Any]) -> dict[str, Any]:
    # The exported task of questions puts their ids into the metadata, too.
    name = "question_id" if "question_id" in (sample.get("metadata") or {}) else "sample_id"
    row = {name: sample.get("id"), "repeat": int(sample.get("epoch", 1)) - 1, "response": None}
    output = _require_object(sample.get("output") or {})
    error = sample.get("error") or output.get("error")
    choices = output.get("choices") or []
    if error or not choices:
        return row | {"error": _read_error(error)}
    choice = _require_object(choices[0])
    content = _require_object(choice.get("message")).get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])
    texts = {"text": "", "reasoning": ""}
    for part in map(_require_object, parts):
        kind = str(part.get("type"))
        if kind in texts:
            texts[kind] += _resolve(str(part.get(kind) or ""), sample.get("attachments") or {})
    reasoning, reason = texts["reasoning"] or None, choice.get("stop_reason")
    return row | {"response": texts["text"], "reasoning": reasoning, "finish_reason": reason}


def _read_error(error: object) -> str:
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "the log has no output of the model for this sample")


def _resolve(text: str, attachments: Mapping[str, Any]) -> str:
    """Return a text of the log; a long one may stand in its attachments."""
    return str(attachments[text.removeprefix("attachment://")]) if text.startswith("attachment://") else text


def is_lm_eval_row(row: Mapping[str, Any]) -> bool:
    """Return whether lm-eval wrote the row for a sample or a question of an exported edition."""
    doc = row.get("doc")
    return isinstance(doc, dict) and any(name in doc for name in ID_COLUMNS) and "resps" in row


def convert_lm_eval_row(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per response: several if the task was given `repeats`.

    Raises:
        ValueError: the responses are not in lists.
    """
    resps = row["resps"]
    if not isinstance(resps, list) or not resps or not isinstance(resps[0], list) or not resps[0]:
        raise ValueError(f"resps is {str(resps)[:40]!r}, not a list of lists of responses")
    name = next(name for name in ID_COLUMNS if name in row["doc"])
    row_id = row["doc"][name]
    return [{name: row_id, "repeat": n, "response": text} for n, text in enumerate(resps[0])]


def is_batch_row(row: Mapping[str, Any]) -> bool:
    """Return whether the row is a reply in the form of OpenAI's Batch API."""
    return "custom_id" in row and ("response" in row or "error" in row)


def convert_batch_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a reply to a request of an export to `batch`.

    Raises:
        ValueError: it is a reply to another request, or has no message.
    """
    name, _, row_id = str(row["custom_id"]).partition(":")
    if name not in ID_COLUMNS:
        raise ValueError(f"custom_id is {row['custom_id']!r}, which no export has")
    reply = row.get("response") or {}
    try:
        if row.get("error") or reply.get("status_code") != 200:
            return {name: row_id, "response": None, "error": str(row.get("error") or reply)[:500]}
        choice = reply["body"]["choices"][0]
        message = choice["message"]
        thought = message.get("reasoning") or message.get("reasoning_content")
        return {
            name: row_id,
            "response": message["content"],
            "finish_reason": choice.get("finish_reason"),
            "reasoning": thought,
        }
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"its body has no message ({error!r})") from error


def read_prompt_style(row: Mapping[str, Any]) -> str:
    """Return chat or completion: only in completion style is the prompt sent as it is in the data."""
    try:
        sent = row["arguments"]["gen_args_0"]["arg_0"]
    except (KeyError, TypeError):
        return "chat"
    return "completion" if sent == row["doc"].get("prompt") else "chat"


TEXT_COLUMNS = ("response", "error", "finish_reason", "reasoning")
COLUMNS = (*ID_COLUMNS, "repeat", *TEXT_COLUMNS)
MAX_REPEAT = 999
MAX_SHOWN = 20
NO_RESPONSE = "the imported file has no response"


@dataclass(frozen=True)
class RecordedRow:
    """One response to a question or sample, or the reason why there is none."""

    row_id: str
    repeat: int = 0
    response: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = None


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
    values, prompt_style = _read_values(path)
    found = {name for row in values for name in row}
    named = [name for name in ID_COLUMNS if name in found]
    if len(named) != 1 or "response" not in found:
        raise InputError(
            f"{path}: the rows need the column response, and either question_id or sample_id; found: "
            f"{', '.join(sorted(found)) or 'no rows'}"
        )
    problems, rows = [], []
    for number, row in enumerate(values, 1):
        problem = _find_problem(row, named[0])
        if problem is None:
            rows.append(_build_row(row, named[0]))
        else:
            problems.append(f"row {number}: {problem}")
    if problems:
        raise InputError(f"{path}: {list_some(problems, 'broken rows')}; correct them and import again")
    return RecordedFile(path, named[0], rows, prompt_style)


def list_some(items: list[str], noun: str) -> str:
    """Return the number of the items and the first of them, for a message."""
    more = f", and {len(items) - MAX_SHOWN:,} more" if len(items) > MAX_SHOWN else ""
    return f"{len(items):,} {noun}: {', '.join(items[:MAX_SHOWN])}{more}"


def _read_values(path: Path) -> tuple[list[dict[str, Any]], str | None]:
    """Return the rows of the file with the columns that count, and the prompt style if the file says it."""
    if path.suffix == ".parquet":
        return list(_read_parquet(path)), None
    if path.suffix in SUFFIXES:
        return read_inspect_log(path)
    values: list[dict[str, Any]] = []
    style = None
    for number, row in _read_json_lines(path):
        if is_lm_eval_row(row):
            try:
                values += convert_lm_eval_row(row)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not a sample of lm-eval ({error})") from error
            style = read_prompt_style(row)
        elif is_batch_row(row):
            try:
                values.append(convert_batch_row(row))
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not a reply of a batch ({error})") from error
            style = "chat"
        else:
            values.append({name: row[name] for name in COLUMNS if name in row})
    return values, style


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        frame = read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    yield from frame.select([name for name in COLUMNS if name in frame.columns]).iter_rows(named=True)


def _read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not blank, and its JSON object."""
    if path.suffix not in (".jsonl", ".ndjson"):
        raise InputError(
            f"{path}: the name of the file must end in .parquet, .jsonl or .ndjson, or in .eval or .json for "
            "a log of inspect_ai"
        )
    try:
        content = path.read_bytes()
        # Only a line feed ends a row: str.splitlines would also split at separators within a response.
        lines = content.decode(json.detect_encoding(content)).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        # In files that were put together, each may begin with the mark.
        line = line.removeprefix("\ufeff")
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: not a JSON object")
        yield number, row


def _find_problem(row: dict[str, Any], id_column: str) -> str | None:
    if not isinstance(row.get(id_column), str) or not row[id_column]:
        return f"{id_column} is {row.get(id_column)!r}, not a text"
    repeat = row.get("repeat", 0)
    is_number = isinstance(repeat, int) and not isinstance(repeat, bool)
    if not is_number or not 0 <= repeat <= MAX_REPEAT:
        return f"repeat is {repeat!r}, not a whole number from 0 to {MAX_REPEAT}"
    for name in TEXT_COLUMNS:
        if not isinstance(row.get(name), str | None):
            return f"{name} is neither a text nor null"
    return None


def _build_row(row: dict[str, Any], id_column: str) -> RecordedRow:
    texts = {name: replace_surrogates(row.get(name)) for name in TEXT_COLUMNS}
    if texts["response"] is None:
        texts = {"error": texts["error"] or NO_RESPONSE}
    elif texts["error"]:
        texts = {"error": texts["error"]}
    return RecordedRow(str(replace_surrogates(row[id_column])), row.get("repeat", 0), **texts)
