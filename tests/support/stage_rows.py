"""Build rows and records, and write them to disk."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.columns import Stage
from schemas.stages import RESPONSES

Row = dict[str, Any]


def digest(*parts: object, n: int = 16) -> str:
    return hashlib.md5("|".join(map(str, parts)).encode()).hexdigest()[:n]


def write_rows(path: Path, stage: Stage, rows: list[Row]) -> None:
    """Write the rows; an optional column that no row has is left out, as in older files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    optional = {c.name: None for c in stage.columns if c.is_optional}
    names = [name for name in stage.names if name not in optional or any(name in row for row in rows)]
    schema = pa.schema([stage.schema.field(name) for name in names])
    pq.write_table(
        pa.Table.from_pylist([{n: (optional | row)[n] for n in names} for row in rows], schema), path
    )


def write_responses(root: Path, model_id: str, rows: list[Row]) -> Path:
    """Write responses as one file of the response store, named after its checksum; return its path."""
    folder = root / "responses" / model_id
    write_rows(folder / "next.parquet", RESPONSES, rows)
    checksum = hashlib.sha256((folder / "next.parquet").read_bytes()).hexdigest()
    return (folder / "next.parquet").rename(folder / f"part-{checksum[:16]}-{len(rows)}.parquet")


def describe_file(path: Path, n_rows: int) -> Row:
    """Return what a manifest says of a file."""
    return {"rows": n_rows, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


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
