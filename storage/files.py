"""Parquet files on disk: written aside and renamed, known by their checksum, never half there."""

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from primitives.checksums import checksum_file
from schemas.stages import Stage


class FileRef(BaseModel):
    """A file of the store: where it lies under the root, how many rows it has, and its SHA-256."""

    model_config = ConfigDict(frozen=True)

    path: str
    n_rows: int
    sha256: str

    def is_intact(self, root: Path) -> bool:
        """Whether the file is there with these very bytes."""
        file = root / self.path
        return file.is_file() and checksum_file(file) == self.sha256


@contextlib.contextmanager
def write_aside(target: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of ``target`` when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.next")
    try:
        yield aside
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def write_stage_file(root: Path, path: str, frame: pl.DataFrame, stage: Stage) -> FileRef:
    """Write a frame as a file of the stage, with the stage's exact schema.

    The same frame gives the same bytes in every process and at any number of threads.

    Raises:
        pyarrow.ArrowInvalid: if the frame does not fit the schema.
    """
    table = frame.select(stage.names).to_arrow().cast(stage.schema)
    with write_aside(root / path) as aside:
        pq.write_table(table, aside, compression="zstd", write_page_index=False)
        # The kernel counts time in steps of 4 ms, within which a change would leave the stamp as it is.
        os.utime(aside, ns=(time.time_ns(), time.time_ns()))
        sha256 = checksum_file(aside)
    return FileRef(path=path, n_rows=table.num_rows, sha256=sha256)


def place_file(root: Path, ref: FileRef, path: str) -> FileRef:
    """The same file at another path: a hard link, or a copy where links cannot be made."""
    if ref.path == path:
        return ref
    with write_aside(root / path) as aside:
        try:
            os.link(root / ref.path, aside)
        except OSError:
            shutil.copyfile(root / ref.path, aside)
    return FileRef(path=path, n_rows=ref.n_rows, sha256=ref.sha256)


def read_stage_files(root: Path, refs: list[FileRef]) -> pl.DataFrame:
    """The rows of the files, in the order of the files."""
    return pl.concat([pl.read_parquet(root / ref.path) for ref in refs])


def write_json(path: Path, value: object) -> None:
    """Write JSON for people and programs: indented, keys in the given order, in one rename."""
    with write_aside(path) as aside:
        aside.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
