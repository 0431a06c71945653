"""Build rows and records, and write them to disk."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.stages import Stage

Row = dict[str, Any]


def digest(*parts: object, n: int = 16) -> str:
    return hashlib.md5("|".join(map(str, parts)).encode()).hexdigest()[:n]


def write_rows(path: Path, stage: Stage, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([{n: r[n] for n in stage.names} for r in rows], stage.schema)
    pq.write_table(table, path)


def write_record(path: Path, record: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")


def response_row(model_id: str, prompt_key: str, prompt: str, answer: bool | None) -> Row:
    return {
        "prompt_key": prompt_key,
        "model_id": model_id,
        "repeat": 0,
        "prompt": prompt,
        "response": "hm" if answer is None else f" {answer}",
        "status": "ok",
        "error": None,
        "finish_reason": "stop",
        "n_prompt_tokens": 10,
        "n_completion_tokens": 2,
        "logprob_true": -0.1,
        "logprob_false": -2.5,
    }
