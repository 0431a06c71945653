"""The response store when files are damaged or the disk is full."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pretexeval.storage.responses import ResponseStore
from tests.pretexeval.storage.test_responses import FULL, K1, K2, append, read


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
def test_damaged_file_is_renamed_and_its_prompts_are_not_settled(
    store: ResponseStore, damage: Callable[[Path], None], is_known: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path, other = append(store, k1=FULL), append(store, k2=FULL)
    if is_known:
        assert store.read_settled_keys() == {K1, K2}
    damage(path)
    assert store.read_settled_keys() == {K2}
    assert store.list_files() == [other]
    # The file is named once, with the number of its answers.
    assert caplog.text.count(f"{path} is damaged (1 answers)") == 1
    assert path.with_suffix(".damaged").exists()
    assert not path.exists()
    assert append(store, k1=FULL) == path
    assert store.read_settled_keys() == {K1, K2}


def change_first_value(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:20] + b"?" + content[21:])


@pytest.mark.parametrize(
    ("damage", "said"), [(change_first_value, "2 answers"), (truncate, "an unknown number")]
)
def test_damaged_file_of_an_earlier_version_is_named(
    store: ResponseStore,
    damage: Callable[[Path], None],
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = append(store, k1=FULL, k2=FULL)
    old = path.rename(path.with_name(path.name.replace("-2.parquet", ".parquet")))
    assert store.read_settled_keys() == {K1, K2}
    damage(old)
    assert store.read_settled_keys() == set()
    assert f"{old} is damaged ({said}" in caplog.text


def test_prompts_of_a_deleted_file_are_not_settled(store: ResponseStore) -> None:
    path = append(store, k1=FULL)
    append(store, k2=FULL)
    assert store.read_settled_keys() == {K1, K2}
    path.unlink()
    assert store.read_settled_keys() == {K2}


def test_temporary_file_of_a_killed_writer_is_not_read(store: ResponseStore) -> None:
    path = append(store, k1=FULL)
    path.rename(path.with_name(f".{path.name}.123-abcd.next"))
    assert store.read_settled_keys() == set()


FILL_DISK = """
import resource, sys
from pathlib import Path
from schemas.exchange import Completion, Prompt
from pretexeval.storage.responses import ResponseStore

store = ResponseStore(Path(sys.argv[1]), "m-1")
store.append(["1" * 32], [Prompt("completion", "p")], [Completion("True")])
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
keys = [f"{i:032x}" for i in range(500)]
try:
    store.append(keys, [Prompt("completion", k) for k in keys], [Completion(k) for k in keys])
except OSError as error:
    print(type(error).__name__, error.errno)
"""


def test_full_disk_leaves_no_partial_file_and_keeps_the_old_ones(store: ResponseStore) -> None:
    root = store.folder.parent.parent
    result = subprocess.run(
        [sys.executable, "-c", FILL_DISK, str(root)], capture_output=True, text=True, check=True
    )
    assert result.stdout == "OSError 27\n"
    assert len(list(store.folder.iterdir())) == 1
    assert read(store) == {"1" * 32: "True"}
