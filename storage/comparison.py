"""Compare rows that were built again with the file that is stored, without changing the file."""

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from schemas.columns import Stage
from storage.files import FileRef, write_stage_file


def is_same_file(frame: pl.DataFrame, stage: Stage, stored: FileRef | None) -> bool:
    """Return whether the rows would be written with the bytes of the stored file."""
    with TemporaryDirectory() as folder:
        written = write_stage_file(Path(folder), "rows.parquet", frame, stage)
    return stored is not None and written.sha256 == stored.sha256
