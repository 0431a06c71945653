import threading
import time
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.bucket import Bucket
from pretexeval.storage.lease import Lease
from tests.support.object_storage import ObjectStorage, serve_rclone

# Long enough that a busy machine does not delay a renewal for a whole term.
TERM_S = 4.0
PATH = "locks/model.json"


@pytest.fixture
def bucket(moto: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    moto.set_environment(monkeypatch)
    return Bucket(moto.make_address())


def test_one_process_holds_the_lease_at_a_time_and_each_gets_it(bucket: Bucket) -> None:
    inside, most, turns = 0, 0, []

    def work(number: int) -> None:
        nonlocal inside, most
        with Lease(bucket, PATH, TERM_S):
            inside += 1
            most = max(most, inside)
            time.sleep(0.2)
            inside -= 1
            turns.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert sorted(turns) == [0, 1, 2, 3]


def test_released_lease_is_free_at_once(bucket: Bucket) -> None:
    started = time.monotonic()
    for _ in range(3):
        with Lease(bucket, PATH, term_s=60):
            pass
    assert time.monotonic() < started + 20


def test_lease_is_renewed_beyond_its_term(bucket: Bucket) -> None:
    with Lease(bucket, PATH, TERM_S) as lease:
        time.sleep(2.5 * TERM_S)
        lease.require_held()


def test_lease_of_a_killed_process_is_taken_over_after_a_term(bucket: Bucket) -> None:
    dead = Lease(bucket, PATH, TERM_S)
    assert dead._acquire()
    started = time.monotonic()
    with Lease(bucket, PATH, TERM_S):
        assert TERM_S <= time.monotonic() - started < 4 * TERM_S


def test_stopped_process_notices_that_its_lease_was_taken_over(bucket: Bucket) -> None:
    with Lease(bucket, PATH, TERM_S) as stopped:
        # Imitates a stopped process: nothing renews the lease until another process has taken it over.
        stopped._is_released.set()
        with Lease(bucket, PATH, TERM_S) as other:
            stopped._is_released.clear()
            stopped._renew_until_released()
            with pytest.raises(InputError, match="lease was lost"):
                stopped.require_held()
            held = bucket.read(PATH)
            stopped.__exit__(None, None, None)
            assert bucket.read(PATH) == held
            other.require_held()


def test_lease_is_lost_if_the_storage_is_unreachable_for_a_term(bucket: Bucket, moto: ObjectStorage) -> None:
    with Lease(bucket, PATH, TERM_S) as lease:
        with moto.pause():
            time.sleep(1.5 * TERM_S)
            with pytest.raises(InputError, match="lease was lost"):
                lease.require_held()
        time.sleep(TERM_S)


def test_storage_without_conditional_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_rclone(tmp_path) as server:
        server.set_environment(monkeypatch)
        with pytest.raises(InputError, match="conditional writes"), Lease(Bucket(server.address), PATH):
            pass
