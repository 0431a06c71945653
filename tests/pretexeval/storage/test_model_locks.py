import threading
from pathlib import Path

import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.storage.locks import hold_model
from pretexeval.storage.mirror import Mirror
from tests.support.object_storage import ObjectStorage

MODEL = "m-12345678"
# Long enough for a lock that is free, and short enough to wait for one that is not.
BLOCKED_S = 0.7
FREE_S = 60.0


@pytest.fixture(params=["folder", "bucket"])
def mirror(
    request: pytest.FixtureRequest, tmp_path: Path, moto: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> Mirror:
    if request.param == "folder":
        return Mirror(StorageConfig(root=tmp_path))
    moto.set_environment(monkeypatch)
    return Mirror(StorageConfig(root=tmp_path, shared=moto.make_address()))


class Session(threading.Thread):
    """A thread that acquires the lock of a model or of a shard, and holds it until it is told to end."""

    def __init__(self, mirror: Mirror, shard: str | None) -> None:
        super().__init__(daemon=True)
        self.mirror, self.shard = mirror, shard
        self.is_held, self.may_end = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with hold_model(self.mirror, MODEL, self.shard) as require_held:
            require_held()
            self.is_held.set()
            self.may_end.wait(FREE_S)

    def end(self) -> None:
        self.may_end.set()
        self.join(FREE_S)
        assert not self.is_alive()


def test_shards_of_one_division_are_asked_together_and_exclude_all_others(mirror: Mirror) -> None:
    first, second = Session(mirror, "shard-1-of-2"), Session(mirror, "shard-2-of-2")
    assert first.is_held.wait(FREE_S)
    assert second.is_held.wait(FREE_S)
    whole = Session(mirror, None)
    assert not whole.is_held.wait(BLOCKED_S)
    first.end()
    assert not whole.is_held.wait(BLOCKED_S)
    second.end()
    assert whole.is_held.wait(FREE_S)
    whole.end()


@pytest.mark.parametrize("shard", ["shard-1-of-2", "shard-2-of-3"])
def test_a_shard_excludes_its_twin_and_those_of_another_division(mirror: Mirror, shard: str) -> None:
    first, waiting = Session(mirror, "shard-1-of-2"), Session(mirror, "shard-2-of-2")
    assert first.is_held.wait(FREE_S)
    waiting.end()
    waiting = Session(mirror, shard)
    assert not waiting.is_held.wait(BLOCKED_S)
    first.end()
    assert waiting.is_held.wait(FREE_S)
    waiting.end()


def test_shards_wait_for_a_session_with_all_prompts(mirror: Mirror) -> None:
    whole = Session(mirror, None)
    assert whole.is_held.wait(FREE_S)
    shard = Session(mirror, "shard-1-of-2")
    assert not shard.is_held.wait(BLOCKED_S)
    whole.end()
    assert shard.is_held.wait(FREE_S)
    shard.end()
