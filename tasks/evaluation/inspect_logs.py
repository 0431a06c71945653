"""Logs of inspect_ai, as rows of recorded responses: .eval files (ZIP archives of JSON) and .json files."""

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from primitives.errors import InputError

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
"""What reading a damaged archive or a damaged JSON file raises."""


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
        rows = [_build_row(_require_object(sample)) for sample in samples]
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


def _build_row(sample: Mapping[str, Any]) -> dict[str, Any]:
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
