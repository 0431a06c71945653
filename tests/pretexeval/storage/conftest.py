"""Two hosts that share a bucket. Each host is a folder of its own, and Moto's server keeps the bucket."""

import shutil
from pathlib import Path

import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.store import Store
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tests.support.evaluations import CountingEngine, ask_model, finish
from tests.support.object_storage import ObjectStorage
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
KINDS = ("editions", "responses", "predictions")
Hosts = tuple[StorageConfig, StorageConfig]
Stores = tuple[Store, Store]


@pytest.fixture(scope="session")
def model() -> ModelConfig:
    return ModelConfig(name="model", engine="openai", model="x", base_url="http://127.0.0.1:9/v1")


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory, model: ModelConfig) -> Path:
    """Return the root of a complete edition that is evaluated."""
    root = tmp_path_factory.mktemp("evaluated")
    edition = make_edition(root, BASE)
    complete_edition(edition, list(write_files(edition).values()), [])
    evaluation = Evaluation(StorageConfig(root=root), edition.edition_id, model)
    finish(evaluation, ask_model(evaluation, lambda _: CountingEngine()))
    return root


@pytest.fixture
def hosts(moto: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    moto.set_environment(monkeypatch)
    shared = moto.make_address()
    a, b = (StorageConfig(root=tmp_path / name, shared=shared) for name in "ab")
    return a, b


@pytest.fixture
def stores(hosts: Hosts) -> Stores:
    return Store(hosts[0]), Store(hosts[1])


@pytest.fixture
def edition(hosts: Hosts, evaluated: Path) -> Edition:
    """Return an edition that is complete on the first host."""
    shutil.copytree(evaluated / "editions", hosts[0].root / "editions")
    return make_edition(hosts[0].root, BASE)


def read_tree(root: Path, *folders: str) -> dict[str, str]:
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): checksum_file(path) for path in paths}
