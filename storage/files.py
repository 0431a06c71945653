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
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from primitives.checksums import checksum_file
from schemas.stages import Stage


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


def write_stage_file(root: Path, path: str, frame: pl.DataFrame, stage: Stage) -> FileRef:
    """Write a frame as a Parquet file with the exact schema of the stage.

    The same frame gives the same bytes in every process and with any number of threads.

    Raises:
        pyarrow.ArrowInvalid: the frame does not fit the schema.
    """
    table = frame.select(stage.names).to_arrow().cast(stage.schema)
    with write_atomically(root / path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_index=False)
        # The kernel's clock has steps of 4 ms. Without this, two writes in one step would get the same mtime,
        # and readers that compare mtimes would miss the second write.
        os.utime(temporary, ns=(time.time_ns(), time.time_ns()))
        sha256 = checksum_file(temporary)
    return FileRef(path=path, n_rows=table.num_rows, sha256=sha256)


def link_file(root: Path, ref: FileRef, path: str) -> FileRef:
    """Hard-link a file to another path, or copy it where links are not supported; return the new file."""
    if ref.path == path:
        return ref
    with write_atomically(root / path) as temporary:
        try:
            os.link(root / ref.path, temporary)
        except OSError:
            shutil.copyfile(root / ref.path, temporary)
    return FileRef(path=path, n_rows=ref.n_rows, sha256=ref.sha256)


def read_stage_files(root: Path, refs: list[FileRef]) -> pl.DataFrame:
    """Return the rows of the files, in the order of the files."""
    return pl.concat([pl.read_parquet(root / ref.path) for ref in refs])


def write_json(path: Path, value: object) -> None:
    """Write indented JSON atomically, with the keys in the given order."""
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
