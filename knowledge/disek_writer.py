"""Write a base in DiseK's format, for other programs that read it (docs/disek.md)."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from knowledge.base import KnowledgeBase
from knowledge.disek import build_disek_table
from knowledge.disek_files import ATTRIBUTE_SEPARATOR
from primitives.errors import InputError
from storage.files import write_aside


def write_disek(base: KnowledgeBase, path: Path) -> Path:
    """Write the base's four DiseK relations as one table, and return its path.

    The extension chooses the file format. `read_disek` reads the same triplets back.

    Raises:
        InputError: the extension is unknown, the base does not fit the format, or an attribute contains the
            separator of a text format.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path} has the extension {path.suffix!r}; allowed: {', '.join(WRITERS)}")
    table = build_disek_table(base)
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
    """Return the table with the attributes of each row joined to one text."""
    names = table["attributes"].explode()
    if unfit := names.filter(names.str.contains(ATTRIBUTE_SEPARATOR, literal=True)).to_list():
        raise InputError(
            f"attribute {unfit[0]!r} contains {ATTRIBUTE_SEPARATOR}, which separates attributes in CSV and "
            "TSV: write .jsonl or .parquet"
        )
    return table.with_columns(pl.col("attributes").list.join(f" {ATTRIBUTE_SEPARATOR} "))


WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}
