"""A base written in DiseK's shape, for whatever reads that (docs/disek.md)."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from knowledge.base import KnowledgeBase
from knowledge.disek import as_disek_table
from knowledge.disek_files import JOINT
from primitives.errors import InputError
from storage.files import write_aside


def write_disek(base: KnowledgeBase, path: Path) -> Path:
    """Write the base's four DiseK relations as one table, its format by the extension; the path.

    Read again, it gives the same triplets.

    Raises:
        InputError: if the extension is none of those, the base has nothing that fits the shape, or a
            name holds what stands between the attributes of a text.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path} has the extension {path.suffix!r}; allowed: {', '.join(WRITERS)}")
    table = as_disek_table(base)
    with write_aside(path) as aside:
        writer(table, aside)
    return path


def _write_csv(table: pl.DataFrame, path: Path) -> None:
    _join_attributes(table).write_csv(path)


def _write_tsv(table: pl.DataFrame, path: Path) -> None:
    _join_attributes(table).write_csv(path, separator="\t")


def _write_json_lines(table: pl.DataFrame, path: Path) -> None:
    table.write_ndjson(path)


def _write_parquet(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path)


def _join_attributes(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its attributes as one text."""
    names = table["attributes"].explode()
    if unfit := names.filter(names.str.contains(JOINT, literal=True)).to_list():
        raise InputError(
            f"attribute {unfit[0]!r} holds {JOINT}, which stands between attributes in CSV and TSV: write "
            ".jsonl or .parquet"
        )
    return table.with_columns(pl.col("attributes").list.join(f" {JOINT} "))


WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}
