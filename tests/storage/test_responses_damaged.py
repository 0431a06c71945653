"""What becomes of the response store when its files or its disk fail it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from storage.responses import ResponseStore
from tests.storage.test_responses import FULL, K1, K2, append, read


@pytest.fixture
def store(tmp_path: Path) -> ResponseStore:
    return ResponseStore(tmp_path, "m-1")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_another(path: Path) -> None:
    pl.DataFrame({"prompt_key": [K1]}).write_parquet(path)


@pytest.mark.parametrize("damage", [truncate, flip_byte, empty, replace_by_another])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_damaged_file_is_set_aside_and_asked_again(
    store: ResponseStore, damage: Callable[[Path], None], is_known: bool
) -> None:
    path, other = append(store, k1=FULL), append(store, k2=FULL)
    if is_known:
        assert store.read_settled_keys() == {K1, K2}
    damage(path)
    assert store.read_settled_keys() == {K2}
    assert store.list_files() == [other]
    assert path.with_suffix(".damaged").exists()
    assert not path.exists()
    assert append(store, k1=FULL) == path
    assert store.read_settled_keys() == {K1, K2}


def test_a_deleted_file_is_asked_again(store: ResponseStore) -> None:
    path = append(store, k1=FULL)
    append(store, k2=FULL)
    assert store.read_settled_keys() == {K1, K2}
    path.unlink()
    assert store.read_settled_keys() == {K2}


def test_what_a_killed_writer_left_is_not_read(store: ResponseStore) -> None:
    path = append(store, k1=FULL)
    path.rename(path.with_name(f".{path.name}.123-abcd.next"))
    assert store.read_settled_keys() == set()


def test_a_folder_that_is_a_file_leaves_nothing_behind(store: ResponseStore) -> None:
    store.folder.parent.mkdir()
    store.folder.write_text("in the way")
    with pytest.raises(OSError, match="m-1"):
        append(store, k1=FULL)
    assert list(store.folder.parent.iterdir()) == [store.folder]
    assert store.folder.read_text() == "in the way"


FILL_DISK = """
import resource, sys
from pathlib import Path
from schemas.exchange import Completion, Prompt
from storage.responses import ResponseStore

store = ResponseStore(Path(sys.argv[1]), "m-1")
store.append(["1" * 32], [Prompt("completion", "p")], [Completion("True")])
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
keys = [f"{i:032x}" for i in range(500)]
try:
    store.append(keys, [Prompt("completion", k) for k in keys], [Completion(k) for k in keys])
except OSError as error:
    print(type(error).__name__, error.errno)
"""


def test_a_full_disk_leaves_no_half_file_and_what_was_there(store: ResponseStore) -> None:
    root = store.folder.parent.parent
    result = subprocess.run(
        [sys.executable, "-c", FILL_DISK, str(root)], capture_output=True, text=True, check=True
    )
    assert result.stdout == "OSError 27\n"
    assert len(list(store.folder.iterdir())) == 1
    assert read(store) == {"1" * 32: "True"}
