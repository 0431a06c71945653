"""Files: stage files, atomic writes, links, checksums, free space, and the cache of the user."""

import os
import shutil
from pathlib import Path
from unittest import mock

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.disk import ReservedSpace, measure_free_space
from pretexeval.storage.files import FileRef, link_file, read_stage_files, write_atomically, write_stage_file
from schemas.stages import VARIANTS


def make_variants(n: int = 3) -> pl.DataFrame:
    """Return eight rows per triplet."""
    rows = range(8 * n)
    table: dict[str, list[object]] = {
        field.name: [f"{field.name} {row}" for row in rows] for field in VARIANTS.schema
    }
    table |= {field.name: [row % 2 == 0 for row in rows] for field in VARIANTS.schema if field.type == "bool"}
    return pl.DataFrame(table)


def test_stage_file_has_the_exact_schema_and_a_checksum(tmp_path: Path) -> None:
    frame = make_variants()
    ref = write_stage_file(tmp_path, "a/b/r.parquet", frame, VARIANTS)
    assert (ref.path, ref.n_rows) == ("a/b/r.parquet", 24)
    assert ref.sha256 == checksum_file(tmp_path / ref.path)
    assert pq.read_schema(tmp_path / ref.path).equals(VARIANTS.schema, check_metadata=True)
    other = write_stage_file(tmp_path, "other", make_variants(1), VARIANTS)
    both = read_stage_files(tmp_path, [ref, other], VARIANTS)
    assert both.equals(pl.concat([frame, make_variants(1)]))
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["r.parquet"]
    # Columns are sorted as in the schema, and others dropped.
    mixed = frame.select(*reversed(frame.columns), pl.lit(1).alias("more"))
    assert write_stage_file(tmp_path, "mixed", mixed, VARIANTS).sha256 == ref.sha256


def test_the_same_rows_in_other_chunks_give_the_same_bytes(tmp_path: Path) -> None:
    frame = make_variants(2000)
    parts = pl.concat([frame[:5], frame[5:9000], frame[9000:]], rechunk=False)
    assert (frame.n_chunks(), parts.n_chunks()) == (1, 3)
    one, two, other = (
        write_stage_file(tmp_path, f"{i}", f, VARIANTS) for i, f in enumerate((frame, parts, frame[::-1]))
    )
    assert one.sha256 == two.sha256 != other.sha256


@pytest.mark.parametrize("column", ["label", "relation"])
def test_rows_that_do_not_fit_the_schema_are_not_written(tmp_path: Path, column: str) -> None:
    write_stage_file(tmp_path, "r", make_variants(), VARIANTS)
    before = (tmp_path / "r").read_bytes()
    broken = make_variants(1).with_columns(pl.lit([1, 2]).alias(column))
    with pytest.raises(pa.ArrowException):
        write_stage_file(tmp_path, "r", broken, VARIANTS)
    assert (tmp_path / "r").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_changed_or_missing_file_is_not_intact(tmp_path: Path) -> None:
    ref = write_stage_file(tmp_path, "r", make_variants(), VARIANTS)
    assert ref.is_intact(tmp_path)
    path = tmp_path / "r"
    content = path.read_bytes()
    for damaged in (content[:-1], content[:-1] + b"\x00", b""):
        path.write_bytes(damaged)
        assert not ref.is_intact(tmp_path)
    path.unlink()
    assert not ref.is_intact(tmp_path)
    path.mkdir()
    assert not ref.is_intact(tmp_path)


def write_half(target: Path) -> None:
    with write_atomically(target) as temporary:
        temporary.write_text("half of the new")
        assert target.read_text() == "old"
        raise ZeroDivisionError


def test_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "file"
    with write_atomically(target) as temporary:
        assert not target.exists()
        temporary.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write_half(target)
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


def test_linked_file_has_the_same_content_at_another_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = write_stage_file(tmp_path, "one/r", make_variants(), VARIANTS)
    placed = link_file(tmp_path, ref, "two/r")
    assert placed == FileRef(path="two/r", n_rows=24, sha256=ref.sha256)
    assert placed.is_intact(tmp_path)
    assert link_file(tmp_path, ref, "one/r") is ref
    # Writing replaces one name by a rename, so the other name keeps the old bytes.
    write_stage_file(tmp_path, "two/r", make_variants(1), VARIANTS)
    assert ref.is_intact(tmp_path)

    def refuse(source: Path, target: Path) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr("pretexeval.storage.files.os.link", refuse)
    assert link_file(tmp_path, ref, "copy").is_intact(tmp_path)
    assert (tmp_path / "copy").stat().st_ino != (tmp_path / "one/r").stat().st_ino


def test_free_space_is_measured_and_reserved_without_a_trace(tmp_path: Path) -> None:
    disk = shutil.disk_usage(tmp_path)
    assert measure_free_space(tmp_path / "not" / "there") == pytest.approx(disk.free, rel=0.2)
    assert list(tmp_path.iterdir()) == []
    with ReservedSpace(tmp_path / "new") as space:
        space.require(50_000_000)
        assert not list((tmp_path / "new").iterdir())
    refused = pytest.raises(InputError, match=r"no room for .* make room")
    with mock.patch("os.posix_fallocate") as filled, ReservedSpace(tmp_path) as space, refused:
        space.require(2 * disk.total)
    assert not filled.called


def test_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    broken = [tmp_path / "file", tmp_path / "file" / "data", tmp_path / "dangling", Path("/proc/none")]
    for root in [*broken, *([locked / "data"] if os.geteuid() != 0 else [])]:
        with pytest.raises(InputError) as refused:
            measure_free_space(root, "[storage] root")
        assert str(refused.value).startswith(f"[storage] root {root} cannot be written (")
        with pytest.raises(InputError) as refused:
            measure_free_space(root)
        assert str(refused.value).startswith(f"{root} cannot be written (")
    assert (tmp_path / "file").read_text() == "mine"
