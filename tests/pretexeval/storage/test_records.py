import json
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import FileRef
from pretexeval.storage.layout import manifest_file
from pretexeval.storage.records import (
    find_manifest,
    find_record,
    list_files,
    parse_record,
    read_manifest,
    read_manifest_files,
    read_record,
    write_record,
)

REFS = [
    FileRef(path="editions/e/triplets/s.parquet", n_rows=2, sha256="cc"),
    FileRef(path="editions/e/samples/r.parquet", n_rows=16, sha256="bb"),
    FileRef(path="editions/e/triplets/r.parquet", n_rows=4, sha256="aa"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of an edition `e` with three files."""
    write_record(tmp_path / manifest_file("e"), {"edition_id": "e", "files": list_files(REFS, "editions/e")})
    return tmp_path


def test_files_of_a_manifest_can_be_read_by_stage(root: Path) -> None:
    listed = list_files(REFS, "editions/e")
    assert list(listed) == ["samples/r.parquet", "triplets/r.parquet", "triplets/s.parquet"]
    assert read_manifest_files(root, "e") == {ref.path: ref for ref in REFS}
    assert list(read_manifest_files(root, "e", "triplets")) == [REFS[2].path, REFS[0].path]
    assert read_manifest_files(root, "e", "trip") == {}


def test_edition_without_a_manifest_has_no_files(tmp_path: Path) -> None:
    assert read_manifest_files(tmp_path, "e") == {}
    with pytest.raises(InputError, match=r"manifest\.json is missing, so edition 'e' is not complete"):
        read_manifest(tmp_path, "e")


@pytest.mark.parametrize("content", [b"", b'{"files": ', b"\xff\xfe", b"[]", b"{}", b'{"edition_id": "e"}'])
def test_damaged_manifest_is_set_aside_and_named_once(
    root: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = root / manifest_file("e")
    path.write_bytes(content)
    assert read_manifest_files(root, "e") == {}
    assert path.with_name("manifest.json.damaged").read_bytes() == content
    with pytest.raises(InputError, match=r"manifest\.json is missing, so edition 'e' is not complete"):
        read_manifest(root, "e")
    (message,) = [record.getMessage() for record in caplog.records]
    assert str(path) in message
    assert "pretexeval build" in message


@pytest.mark.parametrize("name", ["../r.parquet", "a/../../r.parquet"])
def test_record_that_lists_a_file_outside_its_folder_is_set_aside(root: Path, name: str) -> None:
    path = root / manifest_file("e")
    write_record(path, {"edition_id": "e", "files": {name: {"rows": 4, "sha256": "aa"}}})
    assert find_manifest(root, "e") is None
    assert not path.exists()


@pytest.mark.parametrize("version", [{}, {"version": 1}])
def test_folder_of_another_version_stays_and_is_named_with_what_to_do(
    root: Path, version: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    path = root / manifest_file("e")
    path.write_text(json.dumps({**version, "edition_id": "e", "files": {}}))
    before = path.read_bytes()
    assert find_manifest(root, "e") is None
    with pytest.raises(InputError) as raised:
        read_manifest(root, "e")
    assert str(raised.value) == (
        f"{path.parent} was written by another version of pretexeval: run `pretexeval run CONFIG`, "
        "which asks no stored prompt twice, or remove the folder"
    )
    assert (path.read_bytes(), caplog.records) == (before, [])


def test_every_changed_character_of_a_record_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    record = {"n_errors": 0, "share": 0.01, "name": "größer", "files": {"a": {"rows": 1, "sha256": "b"}}}
    write_record(path, record)
    assert read_record(path) == record
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        try:
            found = parse_record(flipped)
        except ValueError:
            continue
        # Only white space was changed.
        assert found == record


def test_record_of_another_folder_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_record(path, {"edition_id": "e", "model_id": "m"})
    assert find_record(path, "run again", edition_id="e", model_id="m") is not None
    assert find_record(path, "run again", edition_id="e", model_id="other") is None
    assert not path.exists()
