import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pretexeval.config.questions import UNSURE
from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE, evaluation_folder, withdrawal_record
from pretexeval.storage.publication import hold_publication, list_pieces, remove_edition, sync_everything
from pretexeval.storage.store import Store
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tests.pretexeval.storage.conftest import read_tree
from tests.support.object_storage import ObjectStorage
from tests.support.small_bases import write_files

GRADES = "reviews/edition/grader.parquet"


@pytest.fixture
def stores(moto: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, Store]:
    moto.set_environment(monkeypatch)
    shared = moto.make_address()
    first, second = (Store(StorageConfig(root=tmp_path / name, shared=shared)) for name in "ab")
    first.root.mkdir()
    second.root.mkdir()
    return first, second


def write(store: Store, path: str, content: bytes) -> Path:
    target = store.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def publish(store: Store, content: bytes | None) -> None:
    with hold_publication(store):
        if content is None:
            write(store, WAREHOUSE, b"half")
            raise InputError("the disk is full")
        write(store, WAREHOUSE, content)
        write(store, "report/edition/index.html", content)


def test_one_publisher_at_a_time_sends_its_results(stores: tuple[Store, Store]) -> None:
    first, second = stores
    with ThreadPoolExecutor(1) as pool:
        with hold_publication(first):
            waiting = pool.submit(publish, second, b"second")
            time.sleep(1.5)
            assert not waiting.done()
            write(first, WAREHOUSE, b"first")
        waiting.result(timeout=20)
    assert first.bucket is not None
    for path in (WAREHOUSE, "report/edition/index.html"):
        assert first.bucket.read(path) == b"second"


def test_failed_publication_leaves_the_previous_one(stores: tuple[Store, Store]) -> None:
    first, second = stores
    publish(first, b"first")
    with pytest.raises(InputError, match="full"):
        publish(second, None)
    assert first.bucket is not None
    assert first.bucket.read(WAREHOUSE) == b"first"


@pytest.mark.parametrize("path", [GRADES, withdrawal_record("edition")])
def test_what_people_said_last_replaces_the_rest_on_all_hosts(stores: tuple[Store, Store], path: str) -> None:
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
    hosts: tuple[StorageConfig, StorageConfig], edition: Edition
) -> None:
    first, second = (Store(host) for host in hosts)
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
    complete_edition(edition, list(write_files(edition).values()), [])
    first.push_edition(edition.edition_id)
    sync_everything(second)
    assert read_tree(second.root, "editions") == content


@pytest.mark.parametrize("setting", [None, "answer_only", UNSURE])
def test_an_edition_is_removed_with_its_evaluations(setting: str | None) -> None:
    folder = evaluation_folder("e", "m", setting)
    assert any(folder.startswith(f"{piece}/") for piece in list_pieces("e"))
