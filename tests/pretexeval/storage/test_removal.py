"""Removal of an edition that several hosts share."""

from pretexeval.config.tables import StorageConfig
from pretexeval.storage.mirror import Mirror
from pretexeval.storage.publication import remove_edition, sync_everything
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tests.pretexeval.storage.conftest import read_tree
from tests.support.small_bases import write_files


def test_other_hosts_remove_their_copies_and_do_not_send_them_again(
    hosts: tuple[StorageConfig, StorageConfig], edition: Edition
) -> None:
    first, second = (Mirror(host) for host in hosts)
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
