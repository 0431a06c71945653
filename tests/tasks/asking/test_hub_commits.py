"""A model of the hub's local cache whose branch moves, and whose answers must stay those of one commit."""

import json
import logging
from pathlib import Path

import pytest
from huggingface_hub import constants

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine
from pretexeval.engines.identity import identify_model
from pretexeval.storage.layout import model_file
from pretexeval.storage.store import Store
from schemas.exchange import Prompt, Sampling
from tasks.asking.model_session import ModelSession
from tests.support.evaluations import CountingEngine, ignore
from tests.support.object_storage import ObjectStorage

MODEL = ModelConfig(name="m", model="org/name")
FIRST, SECOND = "1" * 40, "2" * 40


class Cache:
    """A hub cache with two commits of one model, and the revisions at which the model was loaded."""

    def __init__(self, folder: Path) -> None:
        self.storage = StorageConfig(root=folder / "data")
        self.loaded: list[str | None] = []
        self._folder = folder / "hub" / "models--org--name"
        for commit in (FIRST, SECOND):
            (self._folder / "snapshots" / commit).mkdir(parents=True)
            (self._folder / "snapshots" / commit / "config.json").write_text("{}")
        (self._folder / "refs").mkdir()
        self.move_branch(FIRST)

    def move_branch(self, commit: str) -> None:
        (self._folder / "refs" / "main").write_text(commit)

    def ask(self, key: str, config: ModelConfig = MODEL) -> str:
        """Ask the model a prompt, and return the id of the model."""

        def load(config: EngineConfig) -> Engine:
            self.loaded.append(config.revision)
            return CountingEngine()

        with ModelSession(config, Store(self.storage), load) as session:
            session.ask({key * 32: Prompt("completion", "Fever?")}, Sampling(), ignore)
        return session.identity.model_id

    def locate_record(self, model_id: str) -> Path:
        return self.storage.root / model_file(model_id)

    def read_commit(self, model_id: str) -> object:
        return json.loads(self.locate_record(model_id).read_bytes()).get("commit")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return Cache(tmp_path)


def test_moved_branch_is_not_followed_under_the_same_id(
    cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    model_id = cache.ask("a")
    assert f"set revision = '{FIRST}' in the table" in caplog.text
    caplog.clear()
    assert model_id == identify_model(MODEL).model_id == "m-4cf0ad7c"
    assert cache.read_commit(model_id) == FIRST
    cache.move_branch(SECOND)
    assert cache.ask("b") == model_id
    assert cache.loaded == [None, FIRST]
    assert cache.read_commit(model_id) == FIRST
    assert f"set revision = '{SECOND}'" in caplog.text
    assert len(caplog.records) == 1
    # A declared commit is a model of its own, without a warning.
    caplog.clear()
    declared_id = cache.ask("c", MODEL.model_copy(update={"revision": SECOND}))
    assert caplog.records == []
    assert cache.read_commit(declared_id) == SECOND
    assert declared_id != model_id


def test_host_without_a_recorded_commit_loads_the_commit_of_the_other_host(
    cache: Cache, moto: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    moto.set_environment(monkeypatch)
    address, here = moto.make_address(), cache.storage.root
    cache.storage = StorageConfig(root=here.with_name("other"), shared=address)
    model_id = cache.ask("a")
    # A record as it was written before commits were recorded.
    record = json.loads(cache.locate_record(model_id).read_bytes()) | {"commit": None}
    cache.storage = StorageConfig(root=here, shared=address)
    path = cache.locate_record(model_id)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
    cache.move_branch(SECOND)
    assert cache.ask("b") == model_id
    assert cache.loaded == [None, FIRST]
    assert cache.read_commit(model_id) == FIRST


def test_answers_that_were_stored_before_commits_were_recorded_keep_their_id(cache: Cache) -> None:
    model_id = cache.ask("a")
    path = cache.locate_record(model_id)
    record = json.loads(path.read_bytes())
    del record["commit"]
    path.write_text(json.dumps(record))
    assert cache.ask("b") == model_id
    assert cache.loaded == [None, None]
    assert cache.read_commit(model_id) == FIRST
    # The record of a model without a commit has no key for it.
    endpoint = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://a/v1"}
    other_id = cache.ask("a", ModelConfig.model_validate(endpoint))
    assert "commit" not in json.loads(cache.locate_record(other_id).read_bytes())
