"""Knowledge bases, and other tables, whose rows a test writes."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write the rows in the format that the extension names; CSV and TSV join lists."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        write(path, "\n".join(json.dumps(row) for row in rows) + "\n\n")
    else:
        separator, between = (",", "||") if path.suffix == ".csv" else ("\t", " || ")
        lists = [name for name, dtype in frame.schema.items() if dtype == pl.List]
        frame.with_columns(pl.col(lists).list.join(between)).write_csv(path, separator=separator)
    return path


def read_own(path: Path, **settings: Any) -> KnowledgeBase:  # noqa: ANN401
    """Return the base of a table; the settings are further keys of [knowledge]."""
    table = {"name": "own", "format": "table", "path": path}
    return read_knowledge_base(KnowledgeConfig.model_validate(table | settings))


def read_error(path: Path, **settings: Any) -> str:  # noqa: ANN401
    with pytest.raises(InputError) as caught:
        read_own(path, **settings)
    return str(caught.value)


def list_tested(base: KnowledgeBase) -> list[tuple[str, str]]:
    """Return head and tail of the triplets that are tested."""
    return base.triplets.filter(~pl.col("also_true")).select("head", "tail").rows()
