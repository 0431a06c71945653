import threading
import time
from pathlib import Path

import pytest

from primitives.errors import InputError
from storage.bucket import Bucket
from storage.lease import Lease
from tests.support.object_storage import ObjectStorage, serve_rclone

# A busy machine must not make it stand still for so long.
TERM_S = 4.0
PATH = "locks/model.json"


@pytest.fixture
def bucket(moto: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    moto.set_environment(monkeypatch)
    return Bucket(moto.make_address())


def test_only_one_at_a_time_and_each_gets_its_turn(bucket: Bucket) -> None:
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


def test_it_is_given_back_at_once(bucket: Bucket) -> None:
    started = time.monotonic()
    for _ in range(3):
        with Lease(bucket, PATH, term_s=60):
            pass
    assert time.monotonic() < started + 20


def test_it_is_kept_for_longer_than_its_term(bucket: Bucket) -> None:
    with Lease(bucket, PATH, TERM_S) as lease:
        time.sleep(2.5 * TERM_S)
        lease.require()


def test_that_of_a_process_that_was_killed_is_taken_over(bucket: Bucket) -> None:
    dead = Lease(bucket, PATH, TERM_S)
    assert dead._acquire()
    started = time.monotonic()
    with Lease(bucket, PATH, TERM_S):
        assert TERM_S <= time.monotonic() - started < 4 * TERM_S


def test_one_that_stood_still_notices_and_leaves_the_others_alone(bucket: Bucket) -> None:
    with Lease(bucket, PATH, TERM_S) as still:
        # As if the process had been stopped: nothing renews it until another has taken it over.
        still._ends.set()
        with Lease(bucket, PATH, TERM_S) as other:
            still._ends.clear()
            still._renew()
            with pytest.raises(InputError, match="lease was lost"):
                still.require()
            held = bucket.read(PATH)
            still.__exit__(None, None, None)
            assert bucket.read(PATH) == held
            other.require()


def test_storage_out_of_reach_for_a_term_is_noticed(bucket: Bucket, moto: ObjectStorage) -> None:
    with Lease(bucket, PATH, TERM_S) as lease:
        with moto.pause():
            time.sleep(1.5 * TERM_S)
            with pytest.raises(InputError, match="lease was lost"):
                lease.require()
        time.sleep(TERM_S)


def test_storage_without_conditional_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_rclone(tmp_path) as server:
        server.set_environment(monkeypatch)
        with pytest.raises(InputError, match="conditional writes"), Lease(Bucket(server.address), PATH):
            pass
