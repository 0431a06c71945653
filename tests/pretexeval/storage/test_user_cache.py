from pathlib import Path

import pytest

from pretexeval.storage.user_cache import copy_cached, find_cached, keep_cached


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "pretexeval"


def write_text(path: Path) -> None:
    path.write_text("made")


def fail_halfway(path: Path) -> None:
    path.write_text("ma")
    raise OSError("the disk is full")


def test_file_is_made_once_and_replaces_other_versions(tmp_path: Path, caches: Path) -> None:
    assert not copy_cached("table-2.db", tmp_path / "copy")
    keep_cached("table-1.db", write_text)
    keep_cached("other-1.db", write_text)
    keep_cached("table-2.db", write_text)
    assert sorted(path.name for path in caches.iterdir()) == ["other-1.db", "table-2.db"]
    assert copy_cached("table-2.db", tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "made"


def test_cache_that_cannot_be_written_is_no_error(tmp_path: Path, caches: Path) -> None:
    keep_cached("table-1.db", fail_halfway)
    assert list(caches.iterdir()) == []
    caches.rmdir()
    caches.write_text("a file where the folder should be")
    keep_cached("table-1.db", write_text)
    assert not find_cached("table-1.db").exists()
    assert not copy_cached("table-1.db", tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["caches"]
