"""The samples and the questions of an edition as Parquet files."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from exports.rows import COLUMNS, sort_methods
from schemas.question_stages import QUESTIONS

TYPES = {"n_in_triplet": pa.int8(), "is_positive": pa.bool_()}
QUESTION_PROMPT = "the exact text that an evaluation sends in the setting answer_only; null if not tested"


@dataclass(frozen=True)
class ExportedTable:
    """A Parquet file of an export. The metadata of every column holds its meaning."""

    name: str
    row: str
    key: str
    schema: pa.Schema

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.name}.parquet"

    @property
    def meanings(self) -> dict[str, str]:
        """Column -> what it means."""
        return {field.name: field.metadata[b"meaning"].decode() for field in self.schema}


SAMPLE_TABLE = ExportedTable(
    "samples",
    "sample: a statement that is true or false",
    "sample_id",
    pa.schema(
        [pa.field(name, TYPES.get(name, pa.string()), True, {"meaning": m}) for name, m in COLUMNS.items()]
    ),
)
QUESTION_TABLE = ExportedTable(
    "questions",
    QUESTIONS.row,
    "question_id",
    pa.schema([*QUESTIONS.schema, pa.field("prompt", pa.string(), True, {"meaning": QUESTION_PROMPT})]),
)


def write_samples(folder: Path, relations: Iterable[pl.DataFrame]) -> dict[str, int]:
    """Write all samples with one row group per relation; return method -> tested samples."""
    counts: dict[str, int] = {}
    for rows in _write_table(folder, SAMPLE_TABLE, relations):
        for method, n in rows.filter(split="test")["method"].value_counts().iter_rows():
            counts[method] = counts.get(method, 0) + n
    return sort_methods(counts)


def write_questions(folder: Path, relations: Iterable[pl.DataFrame]) -> int:
    """Write all questions with one row group per relation; return how many are tested."""
    return sum(rows.filter(split="test").height for rows in _write_table(folder, QUESTION_TABLE, relations))


def _write_table(
    folder: Path, table: ExportedTable, relations: Iterable[pl.DataFrame]
) -> Iterable[pl.DataFrame]:
    """Write the rows of every relation, and yield them."""
    with pq.ParquetWriter(folder / table.file, table.schema, compression="zstd") as writer:
        for rows in relations:
            writer.write_table(rows.select(table.schema.names).to_arrow().cast(table.schema))
            yield rows
