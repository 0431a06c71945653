"""The files of stages: which are built, kept or linked; and the reports of their validation."""

from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import read_record
from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition import stage_files
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.stage_files import (
    StageFiles,
    check_files,
    group_relations,
    key_check,
    place_files,
    provide_files,
    record_check,
)
from tests.support.command import read_stamps
from tests.support.small_bases import make_base, make_edition, make_facts, read_rows_of

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))


def build(edition: Edition) -> dict[str, StageFiles]:
    built: dict[str, StageFiles] = {}
    for stage in (TRIPLETS, VARIANTS, STATEMENTS, SAMPLES):
        built[stage.name] = provide_files(edition, stage.name, *built.values())
    return built


def test_file_of_another_edition_is_linked(tmp_path: Path) -> None:
    one, other = (make_edition(tmp_path, BASE, methods=methods) for methods in (("pretexeval",), ("direct",)))
    refs = provide_files(one, TRIPLETS.name).files
    placed = place_files(other, TRIPLETS.name, refs).files
    for piece, ref in refs.items():
        assert placed[piece].path == other.path_of(TRIPLETS.name, piece)
        assert (tmp_path / placed[piece].path).samefile(tmp_path / ref.path)


def test_rows_that_are_known_are_not_built(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    empty = TRIPLETS.empty
    found = provide_files(edition, TRIPLETS.name, relations=("s",), rows={"s": empty})
    assert list(found.files) == ["s"]
    assert read_rows_of(found, tmp_path).equals(empty)


def test_complete_edition_keeps_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    edition = make_edition(tmp_path, BASE, kind="none")
    built = build(edition)
    files = [ref for stage in built.values() for ref in stage.files.values()]
    complete_edition(edition, files, [])
    stamps = read_stamps(tmp_path, "editions/*/*/*")
    lost = tmp_path / built[TRIPLETS.name].files["s"].path
    lost.unlink()
    assert build(edition) == built
    assert f"{lost} was lost; it is built again" in caplog.text
    after = read_stamps(tmp_path, "editions/*/*/*")
    assert [name for name in after if after[name] != stamps[name]] == [str(lost.relative_to(tmp_path))]
    lost.unlink()
    # This imitates code that draws other triplets.
    monkeypatch.setattr("tasks.drawing.heads.N_DEMONSTRATIONS", 4)
    with pytest.raises(
        InputError, match=r"triplets/s\.parquet was lost or changed.*restore the file, or delete"
    ):
        build(edition)


@pytest.mark.parametrize(
    ("n_heads", "groups"), [(1, [("r",), ("s",)]), (20, [("r",), ("s",)]), (21, [("r", "s")])]
)
def test_small_relations_share_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_heads: int, groups: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(stage_files, "HEADS_PER_GROUP", n_heads)
    assert group_relations(make_edition(tmp_path, BASE)) == groups


def test_report_of_one_edition_serves_another_with_the_same_files(tmp_path: Path) -> None:
    one, other = (make_edition(tmp_path, BASE, methods=methods) for methods in (("pretexeval",), ("direct",)))
    triplets = provide_files(one, TRIPLETS.name)
    report = check_files(one, triplets)
    assert report["n_rows"] == read_rows_of(triplets, tmp_path).height
    assert record_check(one, triplets, report).is_success
    again = provide_files(other, TRIPLETS.name)
    assert key_check(again) == key_check(triplets)
    assert record_check(other, again, report).context == other.edition_id
    path = tmp_path / checks_record(other.edition_id, TRIPLETS.name)
    assert (read_record(path) or {})["context"] == other.edition_id
    before = read_stamps(path.parent)
    record_check(other, again, report)
    assert read_stamps(path.parent) == before
