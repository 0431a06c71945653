import json
from pathlib import Path

import pytest

from primitives.errors import InputError
from primitives.hashing import hash_json
from storage.files import FileRef
from storage.layout import manifest_file
from storage.manifests import check_manifest, read_manifest, read_manifest_files
from storage.records import find_record, list_files, parse_record, read_record, write_record

REFS = [
    FileRef(path="editions/e/triplets/s.parquet", n_rows=2, sha256="cc"),
    FileRef(path="editions/e/samples/r.parquet", n_rows=16, sha256="bb"),
    FileRef(path="editions/e/triplets/r.parquet", n_rows=4, sha256="aa"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of an edition `e` with three files."""
    path = tmp_path / manifest_file("e")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"files": list_files(REFS, "editions/e")}))
    return tmp_path


def test_files_are_listed_by_their_path_within_the_folder() -> None:
    listed = list_files(REFS, "editions/e")
    assert list(listed) == ["samples/r.parquet", "triplets/r.parquet", "triplets/s.parquet"]
    assert listed["samples/r.parquet"] == {"rows": 16, "sha256": "bb"}


def test_files_of_a_manifest_can_be_read_by_stage(root: Path) -> None:
    assert read_manifest_files(root, "e") == {ref.path: ref for ref in REFS}
    assert list(read_manifest_files(root, "e", "triplets")) == [REFS[2].path, REFS[0].path]
    assert read_manifest_files(root, "e", "trip") == {}


def test_edition_without_a_manifest_has_no_files(tmp_path: Path) -> None:
    assert read_manifest_files(tmp_path, "e") == {}
    with pytest.raises(InputError, match=r"edition 'e' is not complete: .*manifest\.json is missing"):
        read_manifest(tmp_path, "e")


@pytest.mark.parametrize("content", [b"", b'{"files": ', b"\xff\xfe", b"[]", b"{}", b'{"files": {"a": 1}}'])
def test_damaged_manifest_is_set_aside_and_named_once(
    root: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = root / manifest_file("e")
    path.write_bytes(content)
    assert read_manifest_files(root, "e") == {}
    assert path.with_name("manifest.json.damaged").read_bytes() == content
    with pytest.raises(InputError, match=r"edition 'e' is not complete: .*manifest\.json is missing"):
        read_manifest(root, "e")
    (message,) = [record.getMessage() for record in caplog.records]
    assert str(path) in message
    assert "pretexeval build" in message


CONFIGURATION = {"format": 1, "kb": "k", "seed": 7, "pool": "revised"}
NAME = f"k-seed7-{hash_json(CONFIGURATION, digits=8)}"
MANIFEST = {
    "edition_id": NAME,
    "kb": "k",
    "label": "seed7",
    "seed": 7,
    "pool": "revised",
    "n_pairs": 2,
    "configuration": CONFIGURATION,
    "files": {"triplets/r.parquet": {"rows": 4, "sha256": "aa"}},
}


@pytest.mark.parametrize(
    "changed",
    [
        {"edition_id": "k-seed8-00000000"},
        {"kb": "j"},
        {"label": "seed8"},
        {"seed": 8},
        {"pool": "authors"},
        {"n_pairs": 3},
        {"configuration": CONFIGURATION | {"seed": 8}},
        {"files": {"triplets/r.parquet": {"rows": -4, "sha256": "aa"}}},
        {"files": {"../r.parquet": {"rows": 4, "sha256": "aa"}}},
    ],
)
def test_manifest_is_bound_to_the_name_of_its_edition(changed: dict[str, object]) -> None:
    check_manifest(NAME, MANIFEST)
    with pytest.raises(ValueError, match=r"^its? "):
        check_manifest(NAME, MANIFEST | changed)


def test_every_changed_character_of_a_record_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    record = {"n_errors": 0, "share": 0.01, "name": "größer", "files": {"a": {"rows": 1}}, "none": None}
    write_record(path, record)
    assert read_record(path) == record
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        try:
            found = parse_record(flipped)
        except ValueError:
            continue
        # Only the name of the checksum, or white space, was changed.
        assert {k: v for k, v in found.items() if v != json.loads(content)["checksum"]} == record


def test_record_of_another_folder_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_record(path, {"edition_id": "e", "model_id": "m"})
    assert find_record(path, "run again", edition_id="e", model_id="m") is not None
    assert find_record(path, "run again", edition_id="e", model_id="other") is None
    assert not path.exists()
