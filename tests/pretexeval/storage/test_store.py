"""Editions that hosts exchange through a bucket."""

from pathlib import Path

import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.publication import hold_publication, sync_everything
from pretexeval.storage.records import read_manifest, read_manifest_files, write_record
from pretexeval.storage.store import Store
from tasks.edition.edition import Edition
from tests.pretexeval.storage.conftest import Host, read_tree


def test_store_without_a_bucket_does_nothing(tmp_path: Path) -> None:
    store = Store(StorageConfig(root=tmp_path))
    store.pull_evaluation("edition", "model")
    store.push_edition("edition")
    sync_everything(store)
    with store.hold_lease("model") as require_held, hold_publication(store):
        require_held()
    assert not list(tmp_path.iterdir())


def test_edition_appears_on_other_hosts_only_when_it_is_complete(
    hosts: tuple[Host, Host], edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Store(host) for host in hosts)
    send, n_sent = first.send, 0

    def send_three(path: str) -> None:
        nonlocal n_sent
        n_sent += 1
        if n_sent > 3:
            raise KeyboardInterrupt
        send(path)

    monkeypatch.setattr(first, "send", send_three)
    with pytest.raises(KeyboardInterrupt):
        first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert not hosts[1].root.exists()
    monkeypatch.setattr(first, "send", send)
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(hosts[1].root, "editions") == read_tree(hosts[0].root, "editions")


def test_damaged_local_file_is_fetched_again_and_damaged_object_is_not_used(
    hosts: tuple[Host, Host], edition: Edition
) -> None:
    first, second = (Store(host) for host in hosts)
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    local, remote = sorted(read_manifest_files(hosts[0].root, edition.edition_id))[:2]
    (hosts[1].root / local).write_bytes(b"changed")
    (hosts[1].root / remote).unlink()
    assert second.bucket is not None
    # It has the same size, so the list of objects does not show the damage.
    second.bucket.send(remote, b"-" * (hosts[0].root / remote).stat().st_size)
    second.pull_edition(edition.edition_id)
    assert checksum_file(hosts[1].root / local) == checksum_file(hosts[0].root / local)
    assert not (hosts[1].root / remote).exists()
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(hosts[1].root, "editions") == read_tree(hosts[0].root, "editions")


def test_edition_with_a_damaged_file_is_not_sent(hosts: tuple[Host, Host], edition: Edition) -> None:
    first = Store(hosts[0])
    path = next(iter(read_manifest_files(hosts[0].root, edition.edition_id)))
    (hosts[0].root / path).write_bytes(b"changed")
    first.push_edition(edition.edition_id)
    assert first.bucket is not None
    assert first.bucket.list_objects("editions") == {}


def test_different_edition_of_the_same_name_is_an_error(hosts: tuple[Host, Host], edition: Edition) -> None:
    first, second = (Store(host) for host in hosts)
    first.push_edition(edition.edition_id)
    path = hosts[1].root / edition.folder / "manifest.json"
    manifest = read_manifest(hosts[0].root, edition.edition_id)
    write_record(path, manifest | {"left_out": [{"what": "another head"}]})
    for exchange in (second.pull_edition, second.push_edition):
        with pytest.raises(InputError, match=r"differ: .*delete"):
            exchange(edition.edition_id)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"files": {"../../x": {"rows": 1, "sha256": "0"}}}', b'{"edition_id": "x", "files": {}}'],
)
def test_damaged_record_in_the_bucket_is_renamed_and_sent_again(
    hosts: tuple[Host, Host], edition: Edition, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (Store(host) for host in hosts)
    assert first.bucket is not None
    name = f"{edition.folder}/manifest.json"
    first.push_edition(edition.edition_id)
    first.bucket.send(name, content)
    second.pull_edition(edition.edition_id)
    assert not hosts[1].root.exists()
    (message,) = [record.getMessage() for record in caplog.records]
    assert f"{first.bucket.address}/{name} is damaged" in message
    assert first.bucket.read(f"{name}.damaged") == content
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(hosts[0].root, edition.folder) == read_tree(hosts[1].root, edition.folder)
