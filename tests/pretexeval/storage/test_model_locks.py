import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.storage.layout import LOCKS_FOLDER
from pretexeval.storage.locks import hold_model
from pretexeval.storage.store import Store
from tests.support.command import REPOSITORY
from tests.support.object_storage import ObjectStorage

MODEL = "m-12345678"
# Long enough for a lock that is free, and short enough to wait for one that is not.
BLOCKED_S = 0.7
FREE_S = 60.0
# A process that holds the lock of a model until it is killed.
HOLD = """
import sys, time
from pathlib import Path
from pretexeval.config.tables import StorageConfig
from pretexeval.storage.locks import hold_model
from pretexeval.storage.store import Store
with hold_model(Store(StorageConfig(root=Path(sys.argv[1]))), sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(params=["folder", "bucket"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, moto: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> Store:
    if request.param == "folder":
        return Store(StorageConfig(root=tmp_path))
    moto.set_environment(monkeypatch)
    return Store(StorageConfig(root=tmp_path, shared=moto.make_address()))


class Session(threading.Thread):
    """A thread that acquires the lock of a model or of a shard, and holds it until it is told to end."""

    def __init__(self, store: Store, shard: str | None) -> None:
        super().__init__(daemon=True)
        self.store, self.shard = store, shard
        self.is_held, self.may_end = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with hold_model(self.store, MODEL, self.shard) as require_held:
            require_held()
            self.is_held.set()
            self.may_end.wait(FREE_S)

    def end(self) -> None:
        self.may_end.set()
        self.join(FREE_S)
        assert not self.is_alive()


def test_shards_of_one_division_are_asked_together_and_exclude_all_others(store: Store) -> None:
    first, second = Session(store, "shard-1-of-2"), Session(store, "shard-2-of-2")
    assert first.is_held.wait(FREE_S)
    assert second.is_held.wait(FREE_S)
    whole = Session(store, None)
    assert not whole.is_held.wait(BLOCKED_S)
    first.end()
    assert not whole.is_held.wait(BLOCKED_S)
    second.end()
    assert whole.is_held.wait(FREE_S)
    whole.end()


@pytest.mark.parametrize("shard", ["shard-1-of-2", "shard-2-of-3"])
def test_a_shard_excludes_its_twin_and_those_of_another_division(store: Store, shard: str) -> None:
    first, waiting = Session(store, "shard-1-of-2"), Session(store, "shard-2-of-2")
    assert first.is_held.wait(FREE_S)
    waiting.end()
    waiting = Session(store, shard)
    assert not waiting.is_held.wait(BLOCKED_S)
    first.end()
    assert waiting.is_held.wait(FREE_S)
    waiting.end()


def test_shards_wait_for_a_session_with_all_prompts(store: Store) -> None:
    whole = Session(store, None)
    assert whole.is_held.wait(FREE_S)
    shard = Session(store, "shard-1-of-2")
    assert not shard.is_held.wait(BLOCKED_S)
    whole.end()
    assert shard.is_held.wait(FREE_S)
    shard.end()


@pytest.mark.parametrize("removes_folder", [False, True])
@pytest.mark.parametrize(
    "shards",
    [
        (None, None),
        ("shard-1-of-2", "shard-1-of-2"),
        ("shard-1-of-2", None),
        ("shard-1-of-2", "shard-2-of-3"),
        (None, "shard-2-of-2"),
    ],
)
def test_deleting_lock_files_lets_no_second_process_in(
    tmp_path: Path, shards: tuple[str | None, str | None], removes_folder: bool
) -> None:
    store = Store(StorageConfig(root=tmp_path))
    first = Session(store, shards[0])
    assert first.is_held.wait(FREE_S)
    if removes_folder:
        shutil.rmtree(tmp_path / LOCKS_FOLDER)
    else:
        for file in (tmp_path / LOCKS_FOLDER).iterdir():
            file.unlink()
    second = Session(store, shards[1])
    assert not second.is_held.wait(BLOCKED_S)
    first.end()
    assert second.is_held.wait(FREE_S)
    second.end()


def test_a_killed_holder_whose_lock_file_was_deleted_blocks_nobody(tmp_path: Path) -> None:
    store = Store(StorageConfig(root=tmp_path))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), MODEL], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        shutil.rmtree(tmp_path / LOCKS_FOLDER)
        waiting = Session(store, None)
        assert not waiting.is_held.wait(BLOCKED_S)
        holder.kill()
    assert waiting.is_held.wait(FREE_S)
    waiting.end()
