from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.files import (
    FileRef,
    link_file,
    read_stage_files,
    write_atomically,
    write_stage_file,
)
from schemas.stages import VARIANTS
from tasks.edition.variants import derive_variants
from tests.tasks.edition.test_variants import make_triplet


def make_variants(n: int = 3) -> pl.DataFrame:
    triplets = pl.concat(make_triplet(number=i) for i in range(n))
    return derive_variants(triplets, ("P", "Q"), is_possibility=False)


def test_stage_file_has_the_exact_schema_and_a_checksum(tmp_path: Path) -> None:
    ref = write_stage_file(tmp_path, "a/b/r.parquet", make_variants(), VARIANTS)
    assert (ref.path, ref.n_rows) == ("a/b/r.parquet", 24)
    assert ref.sha256 == checksum_file(tmp_path / ref.path)
    assert pq.read_schema(tmp_path / ref.path).equals(VARIANTS.schema, check_metadata=True)
    other = write_stage_file(tmp_path, "other", make_variants(1), VARIANTS)
    both = read_stage_files(tmp_path, [ref, other], VARIANTS)
    assert both.equals(pl.concat([make_variants(), make_variants(1)]))
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["r.parquet"]


def test_columns_are_sorted_as_in_the_schema_and_others_dropped(tmp_path: Path) -> None:
    frame = make_variants()
    mixed = frame.select(*reversed(frame.columns), pl.lit(1).alias("more"))
    one = write_stage_file(tmp_path, "one", frame, VARIANTS)
    assert write_stage_file(tmp_path, "two", mixed, VARIANTS).sha256 == one.sha256


def test_the_same_rows_in_other_chunks_give_the_same_bytes(tmp_path: Path) -> None:
    frame = make_variants(2000)
    parts = pl.concat([frame[:5], frame[5:9000], frame[9000:]], rechunk=False)
    assert (frame.n_chunks(), parts.n_chunks()) == (1, 3)
    refs = [write_stage_file(tmp_path, f"{i}", f, VARIANTS) for i, f in enumerate((frame, parts))]
    assert refs[0].sha256 == refs[1].sha256
    other = write_stage_file(tmp_path, "2", frame[::-1], VARIANTS)
    assert other.sha256 != refs[0].sha256


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


def test_linked_file_has_the_same_content_at_another_path(tmp_path: Path) -> None:
    ref = write_stage_file(tmp_path, "one/r", make_variants(), VARIANTS)
    placed = link_file(tmp_path, ref, "two/r")
    assert placed == FileRef(path="two/r", n_rows=24, sha256=ref.sha256)
    assert placed.is_intact(tmp_path)
    assert link_file(tmp_path, ref, "one/r") is ref
    # Writing replaces one name by a rename, so the other name keeps the old bytes.
    write_stage_file(tmp_path, "two/r", make_variants(1), VARIANTS)
    assert ref.is_intact(tmp_path)


def test_file_is_copied_if_links_are_not_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr("pretexeval.storage.files.os.link", refuse)
    ref = write_stage_file(tmp_path, "one", make_variants(), VARIANTS)
    assert link_file(tmp_path, ref, "two").is_intact(tmp_path)
    assert (tmp_path / "two").stat().st_ino != (tmp_path / "one").stat().st_ino
