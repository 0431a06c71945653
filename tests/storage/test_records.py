import json
from pathlib import Path

import pytest

from primitives.errors import InputError
from storage.files import FileRef
from storage.layout import manifest_file
from storage.records import list_files, read_manifest, read_manifest_files

REFS = [
    FileRef(path="editions/e/triplets/s.parquet", n_rows=2, sha256="cc"),
    FileRef(path="editions/e/samples/r.parquet", n_rows=16, sha256="bb"),
    FileRef(path="editions/e/triplets/r.parquet", n_rows=4, sha256="aa"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of an edition `e` with three files."""
    path = tmp_path / manifest_file("e")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"files": list_files(REFS, "editions/e")}))
    return tmp_path


def test_files_are_listed_by_their_path_within_the_folder() -> None:
    listed = list_files(REFS, "editions/e")
    assert list(listed) == ["samples/r.parquet", "triplets/r.parquet", "triplets/s.parquet"]
    assert listed["samples/r.parquet"] == {"rows": 16, "sha256": "bb"}


def test_files_come_back_by_stage(root: Path) -> None:
    assert read_manifest_files(root, "e") == {ref.path: ref for ref in REFS}
    assert list(read_manifest_files(root, "e", "triplets")) == [REFS[2].path, REFS[0].path]
    assert read_manifest_files(root, "e", "trip") == {}


def test_an_edition_without_a_manifest_promises_nothing(tmp_path: Path) -> None:
    assert read_manifest_files(tmp_path, "e") == {}
    with pytest.raises(InputError, match=r"edition 'e' is not complete: .*manifest\.json is missing"):
        read_manifest(tmp_path, "e")


@pytest.mark.parametrize("content", [b"", b'{"files": ', b"\xff\xfe"])
def test_a_damaged_manifest_is_an_error_that_says_what_to_do(root: Path, content: bytes) -> None:
    path = root / manifest_file("e")
    path.write_bytes(content)
    for read in (read_manifest, read_manifest_files):
        with pytest.raises(InputError, match=r"manifest\.json is not a manifest .* delete it and run"):
            read(root, "e")
