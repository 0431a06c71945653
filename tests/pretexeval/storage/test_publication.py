"""Publishing and removing with several hosts: one publisher at a time, and the latest word of people."""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pretexeval.config.questions import UNSURE
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE, evaluation_folder, withdrawal_record
from pretexeval.storage.publication import hold_publication, list_pieces, remove_edition, sync_everything
from pretexeval.storage.store import Store
from tasks.edition.edition import Edition
from tests.pretexeval.storage.conftest import Stores, read_tree

GRADES = "reviews/edition/grader.parquet"
PAGE = "report/edition/index.html"


def write(store: Store, path: str, content: bytes) -> Path:
    target = store.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def publish(store: Store, content: bytes) -> None:
    with hold_publication(store):
        write(store, WAREHOUSE, content)
        write(store, PAGE, content)
        if content == b"half":
            raise InputError("the disk is full")


def test_one_publisher_at_a_time_sends_its_results_if_it_succeeds(stores: Stores) -> None:
    first, second = stores
    with ThreadPoolExecutor(1) as pool:
        with hold_publication(first):
            waiting = pool.submit(publish, second, b"second")
            time.sleep(1.5)
            assert not waiting.done()
            write(first, WAREHOUSE, b"first")
        waiting.result(timeout=20)
    assert first.bucket is not None
    assert [first.bucket.read(path) for path in (WAREHOUSE, PAGE)] == [b"second"] * 2
    with pytest.raises(InputError, match="full"):
        publish(first, b"half")
    assert first.bucket.read(WAREHOUSE) == b"second"


@pytest.mark.parametrize("path", [GRADES, withdrawal_record("edition")])
def test_what_people_said_last_replaces_the_rest_on_all_hosts(stores: Stores, path: str) -> None:
    first, second = stores
    hour = 3600
    os.utime(write(first, path, b"early"), 2 * (time.time() - hour,))
    write(first, "reviews/edition/key.json", b"stays on its host")
    sync_everything(first)
    sync_everything(second)
    assert (second.root / path).read_bytes() == b"early"
    assert not (second.root / "reviews/edition/key.json").exists()
    os.utime(write(second, path, b"later"), 2 * (time.time() + hour,))
    sync_everything(second)
    sync_everything(first)
    assert [(store.root / path).read_bytes() for store in stores] == [b"later", b"later"]


def test_other_hosts_remove_their_copies_and_do_not_send_them_again(
    stores: Stores, edition: Edition, evaluated: Path
) -> None:
    first, second = stores
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    content = read_tree(second.root, "editions")
    assert content == read_tree(first.root, "editions")
    remove_edition(first, edition.edition_id)
    assert read_tree(first.root, ".") == {}
    sync_everything(second)
    assert read_tree(second.root, "editions") == {}
    bucket = first.bucket
    assert bucket is not None
    assert list(bucket.list_objects("editions")) == []
    # It is built again, so it is shared again.
    shutil.copytree(evaluated / "editions", first.root / "editions", dirs_exist_ok=True)
    first.push_edition(edition.edition_id)
    sync_everything(second)
    assert read_tree(second.root, "editions") == content


@pytest.mark.parametrize("setting", [None, "answer_only", UNSURE])
def test_an_edition_is_removed_with_its_evaluations(setting: str | None) -> None:
    folder = evaluation_folder("e", "m", setting)
    assert any(folder.startswith(f"{piece}/") for piece in list_pieces("e"))
