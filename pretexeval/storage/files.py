"""Files on disk: atomic writes, Parquet files with the schema of their stage, and checksums."""

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from pretexeval.primitives.hashing import checksum_file
from pretexeval.primitives.literal_paths import read_parquet
from schemas.columns import Stage


class FileRef(BaseModel):
    """A Parquet file under the root: its path, its number of rows and its SHA-256 checksum."""

    model_config = ConfigDict(frozen=True)

    path: str
    n_rows: int
    sha256: str

    def is_intact(self, root: Path) -> bool:
        """Return whether the file exists and its bytes have the checksum."""
        file = root / self.path
        return file.is_file() and checksum_file(file) == self.sha256


def count_rows(root: Path, ref: FileRef) -> FileRef:
    """Return the file with the number of rows that it really has."""
    return ref.model_copy(update={"n_rows": pq.read_metadata(root / ref.path).num_rows})


@contextlib.contextmanager
def write_atomically(target: Path) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to ``target`` when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.next")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a file atomically."""
    with write_atomically(path) as temporary:
        temporary.write_bytes(content)


def write_stage_file(
    root: Path, path: str, frame: pl.DataFrame, stage: Stage, *, has_page_checksums: bool = False
) -> FileRef:
    """Write a frame as a Parquet file with the exact schema of the stage.

    The same frame gives the same bytes in every process and with any number of threads.

    Args:
        has_page_checksums: whether the file itself holds checksums of its pages, because no record holds the
            checksum of the file.

    Raises:
        pyarrow.ArrowInvalid: the frame does not fit the schema.
    """
    table = build_stage_table(frame, stage)
    with write_atomically(root / path) as temporary:
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            write_page_index=False,
            write_page_checksum=has_page_checksums,
        )
        # The kernel's clock has steps of 4 ms. Without this, two writes in one step would get the same mtime,
        # and readers that compare mtimes would miss the second write.
        os.utime(temporary, ns=(time.time_ns(), time.time_ns()))
        sha256 = checksum_file(temporary)
    return FileRef(path=path, n_rows=table.num_rows, sha256=sha256)


def build_stage_table(frame: pl.DataFrame, stage: Stage) -> pa.Table:
    """Return the frame with the exact schema of the stage.

    Raises:
        pyarrow.ArrowInvalid: the frame does not fit the schema.
    """
    return frame.select(stage.names).to_arrow().cast(stage.schema)


def read_stage_file(path: Path, stage: Stage) -> pl.DataFrame:
    """Return the rows of one file, with the columns of the stage.

    Raises:
        polars.exceptions.ColumnNotFoundError: the file lacks one of them.
    """
    return read_parquet(path, stage.names)


def link_file(root: Path, ref: FileRef, path: str) -> FileRef:
    """Place a file of a stage under another path too, and return the new file."""
    if ref.path == path:
        return ref
    link_or_copy(root / ref.path, root / path)
    return FileRef(path=path, n_rows=ref.n_rows, sha256=ref.sha256)


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file to another path, or copy it where links are not supported."""
    with write_atomically(target) as temporary:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)


def read_stage_files(root: Path, refs: list[FileRef], stage: Stage) -> pl.DataFrame:
    """Return the rows of the files, in the order of the files. Raises as `read_stage_file` does."""
    return pl.concat([read_stage_file(root / ref.path, stage) for ref in refs])


def write_json(path: Path, value: object) -> None:
    """Write indented JSON atomically, with the keys in the given order."""
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
