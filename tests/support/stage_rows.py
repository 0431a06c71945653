"""Build rows and records, and write them to disk."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.storage.records import write_record
from schemas.columns import Stage
from schemas.stages import PREDICTIONS, READINGS, REQUESTS, RESPONSES
from warehouse.records import require_record

Row = dict[str, Any]


def digest(*parts: object, n: int = 16) -> str:
    return hashlib.md5("|".join(map(str, parts)).encode()).hexdigest()[:n]


def write_rows(path: Path, stage: Stage, rows: list[Row]) -> None:
    """Write the rows; a nullable column that a row lacks is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    empty = {column.name: None for column in stage.columns if column.is_nullable}
    filled = [{name: (empty | row)[name] for name in stage.names} for row in rows]
    pq.write_table(pa.Table.from_pylist(filled, stage.schema), path)


def write_responses(root: Path, model_id: str, rows: list[Row]) -> Path:
    """Write responses as one file of the response store, named after its checksum; return its path."""
    folder = root / "responses" / model_id
    write_rows(folder / "next.parquet", RESPONSES, rows)
    checksum = hashlib.sha256((folder / "next.parquet").read_bytes()).hexdigest()
    return (folder / "next.parquet").rename(folder / f"part-{checksum[:16]}-{len(rows)}.parquet")


def describe_file(path: Path, n_rows: int) -> Row:
    """Return what a manifest says of a file."""
    return {"rows": n_rows, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def write_measured(root: Path, edition_id: str, stage: Stage, rows: list[Row], *reports: Row) -> None:
    """Write what was measured on an edition, and its record."""
    path = f"{stage.name}/{edition_id}.parquet"
    write_rows(root / path, stage, rows)
    file = {"path": path, "n_rows": len(rows), "sha256": describe_file(root / path, len(rows))["sha256"]}
    write_record((root / path).with_suffix(".json"), {"checks": list(reports), "file": file})


def write_evaluation(
    folder: Path, edition_id: str, requests: list[Row], predictions: list[Row], max_error_rate: float = 0.01
) -> None:
    """Write the files of an evaluation and its record, which lists them.

    Args:
        requests: with the columns of the readings, too.
    """
    how = {"prompt_style": "completion", "sampling": "{}", "weight": 1}
    write_rows(folder / "requests" / "all.parquet", REQUESTS, [how | row for row in requests])
    write_rows(folder / "readings" / "all.parquet", READINGS, requests)
    write_rows(folder / "predictions" / "all.parquet", PREDICTIONS, predictions)
    record = {"edition_id": edition_id, "max_error_rate": max_error_rate}
    record["scoring_policies"] = sorted({row["scoring_policy"] for row in predictions})
    record |= {"n_samples": len({row["item_id"] for row in requests}), "n_asked": len(requests)}
    record["n_errors"] = sum(row["error"] is not None for row in requests)
    write_run(folder, record)


def write_run(folder: Path, record: Row) -> None:
    """Write the record of an evaluation, which lists all Parquet files of its folder."""
    files = {
        path.relative_to(folder).as_posix(): describe_file(path, pq.read_metadata(path).num_rows)
        for path in sorted(folder.glob("*/*.parquet"))
    }
    usual: Row = {
        "model_id": folder.name,
        "n_reused": 0,
        "n_open": 0,
        "n_demonstrations": 5,
        "pairs_per_relation": None,
        "max_error_rate": 0.01,
        "served": None,
        "finished_at": "2026-11-20T12:00:00+02:00",
        "duration_s": 1.5,
        "checks": [],
        "responses": [],
        "files": files,
    }
    write_record(folder / "run.json", usual | record)


def change_record(path: Path, **values: object) -> None:
    """Write these values into a record, which keeps its others."""
    write_record(path, require_record(path) | values)


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
