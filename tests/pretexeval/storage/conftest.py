"""Two hosts that share a bucket. Each host is a folder of its own, and Moto's server keeps the bucket."""

from pathlib import Path

import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.hashing import checksum_file
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tests.support.object_storage import ObjectStorage
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
Host = StorageConfig


@pytest.fixture
def hosts(moto: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Host, Host]:
    moto.set_environment(monkeypatch)
    shared = moto.make_address()
    return StorageConfig(root=tmp_path / "a", shared=shared), StorageConfig(
        root=tmp_path / "b", shared=shared
    )


@pytest.fixture
def edition(hosts: tuple[Host, Host]) -> Edition:
    """Return an edition that is complete on the first host."""
    planned = make_edition(hosts[0].root, BASE)
    complete_edition(planned, list(write_files(planned).values()), [])
    return planned


def read_tree(root: Path, *folders: str) -> dict[str, str]:
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): checksum_file(path) for path in paths}
