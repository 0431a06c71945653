"""Buckets as Moto and rclone serve them, leases there, and the locks of models in a folder or in a bucket."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.bucket import Bucket, render_reason
from pretexeval.storage.layout import LOCKS_FOLDER
from pretexeval.storage.lease import Lease
from pretexeval.storage.locks import hold_model
from pretexeval.storage.store import Store
from tests.support.object_storage import KEYS, ObjectStorage, serve_rclone


@pytest.fixture(scope="module", params=["moto", "rclone"])
def storage(
    request: pytest.FixtureRequest, moto: ObjectStorage, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStorage]:
    if request.param == "moto":
        yield moto
    else:
        with serve_rclone(tmp_path_factory.mktemp("rclone")) as server:
            yield server


@pytest.fixture
def bucket(storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    storage.set_environment(monkeypatch)
    return Bucket(storage.make_address())


def test_sent_objects_are_listed_and_fetched(bucket: Bucket, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "deep" / "target"
    # Large enough for several parts of an upload and several chunks of a download.
    source.write_bytes(bytes(range(256)) * 100_000)
    bucket.send("a/b/file", source)
    bucket.send("a/small", b"few")
    sizes = {path: found.n_bytes for path, found in bucket.list_objects("a").items()}
    assert sizes == {"a/b/file": 25_600_000, "a/small": 3}
    assert list(bucket.list_objects("a/b")) == ["a/b/file"]
    assert bucket.fetch("a/b/file", target, checksum_file(source))
    assert target.read_bytes() == source.read_bytes()
    assert bucket.read("a/small") == b"few"
    bucket.remove("a/small")
    assert bucket.read("a/small") is None


def test_missing_bucket_and_unreachable_server_are_errors_without_keys(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"^\[storage\] shared s3://nowhere/at/all: .*environment") as caught:
        Bucket("s3://nowhere/at/all").send("a", b"b")
    assert not any(secret in str(caught.value) for secret in KEYS.values())
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="shared s3://bucket"):
        Bucket(bucket.address, timedelta(seconds=1)).read("a")
    for address in ("s3://", "ftp://bucket/a", "nothing"):
        with pytest.raises(InputError, match=r"\[storage\] shared"):
            Bucket(address)


def test_reason_is_one_line_without_url_queries() -> None:
    text = "Generic error: GET https://a.b/c?sig=SECRET&x=1 failed\n  at once\n\nDebug source:\nGeneric"
    assert render_reason(Exception(text)) == "Generic error: GET https://a.b/c failed at once"


# Long enough that a busy machine does not delay a renewal for a whole term.
TERM_S = 3.0
PATH = "locks/model.json"


@pytest.fixture
def leasing(moto: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    moto.set_environment(monkeypatch)
    return Bucket(moto.make_address())


def test_one_process_holds_the_lease_at_a_time_and_a_released_one_is_free_at_once(leasing: Bucket) -> None:
    inside, most, turns = 0, 0, []

    def work(number: int) -> None:
        nonlocal inside, most
        with Lease(leasing, PATH, term_s=60):
            inside += 1
            most = max(most, inside)
            time.sleep(0.2)
            inside -= 1
            turns.append(number)

    started = time.monotonic()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() < started + 30
    assert (most, sorted(turns)) == (1, [0, 1, 2, 3])


def test_lease_is_renewed_beyond_its_term(leasing: Bucket) -> None:
    with Lease(leasing, PATH, TERM_S) as lease:
        time.sleep(2.5 * TERM_S)
        lease.require_held()


def test_lease_of_a_killed_process_is_taken_over_after_a_term(leasing: Bucket) -> None:
    dead = Lease(leasing, PATH, TERM_S)
    assert dead._acquire()
    started = time.monotonic()
    with Lease(leasing, PATH, TERM_S):
        assert TERM_S <= time.monotonic() - started < 4 * TERM_S


def test_stopped_process_notices_that_its_lease_was_taken_over(leasing: Bucket) -> None:
    with Lease(leasing, PATH, TERM_S) as stopped:
        # Imitates a stopped process: nothing renews the lease until another process has taken it over.
        stopped._is_released.set()
        with Lease(leasing, PATH, TERM_S) as other:
            with pytest.raises(InputError, match="lease was lost"):
                stopped.require_held()
            stopped._is_released.clear()
            stopped._renew_until_released()
            assert stopped._is_lost
            stopped.__exit__(None, None, None)
            # The other process writes the object again whenever it renews the lease.
            assert json.loads(leasing.read(PATH) or b"")["holder"] == other._holder
            other.require_held()


@pytest.mark.long
def test_lease_is_lost_if_the_storage_is_unreachable_for_a_term(leasing: Bucket, moto: ObjectStorage) -> None:
    with Lease(leasing, PATH, TERM_S) as lease:
        with moto.pause():
            time.sleep(1.5 * TERM_S)
            with pytest.raises(InputError, match="lease was lost"):
                lease.require_held()
        time.sleep(TERM_S)


MODEL = "m-12345678"
# Long enough for a lock that is free, and short enough to wait for one that is not.
BLOCKED_S = 0.7
FREE_S = 60.0


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
        assert self.is_held.wait(FREE_S)
        self.may_end.set()
        self.join(FREE_S)
        assert not self.is_alive()


@contextmanager
def hold(store: Store, *shards: str | None) -> Iterator[None]:
    """Hold the locks of the shards (None: of the model) during the block."""
    sessions = [Session(store, shard) for shard in shards]
    assert all(session.is_held.wait(FREE_S) for session in sessions)
    yield
    for session in sessions:
        session.end()


def start_waiting(store: Store, shard: str | None) -> Session:
    """Return a session that cannot acquire its lock yet."""
    session = Session(store, shard)
    assert not session.is_held.wait(BLOCKED_S)
    return session


def test_shards_of_one_division_are_asked_together_and_exclude_all_others(store: Store) -> None:
    with hold(store, "shard-1-of-2"):
        same = start_waiting(store, "shard-1-of-2")
        with hold(store, "shard-2-of-2"):
            waiting = [same, *(start_waiting(store, shard) for shard in ("shard-2-of-3", None))]
        time.sleep(BLOCKED_S)
        assert not any(session.is_held.is_set() for session in waiting)
    for session in waiting:
        session.may_end.set()
    for session in waiting:
        session.end()
    with hold(store, None):
        shard = start_waiting(store, "shard-1-of-2")
    shard.end()
    with hold(store, None):
        assert not list((store.root / LOCKS_FOLDER).glob("*shard*"))
        assert store.bucket is None or not [
            p for p in store.bucket.list_objects(LOCKS_FOLDER) if "shard" in p
        ]


@pytest.mark.parametrize("removes_folder", [True, False])
@pytest.mark.parametrize("first", [None, "shard-1-of-2"])
def test_deleting_lock_files_lets_no_second_process_in(
    tmp_path: Path, first: str | None, removes_folder: bool
) -> None:
    store, locks = Store(StorageConfig(root=tmp_path)), tmp_path / LOCKS_FOLDER
    for second in (None, "shard-1-of-2"):
        with hold(store, first):
            for file in locks.iterdir():
                file.unlink()
            if removes_folder:
                locks.rmdir()
            waiting = start_waiting(store, second)
        waiting.end()
