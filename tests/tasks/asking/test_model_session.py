"""Sessions with a model whose branch on the hub moves, and on a disk that is nearly full."""

import json
import logging
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from huggingface_hub import constants

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine
from pretexeval.engines.identity import identify_model
from pretexeval.primitives.errors import FULL_DISK
from pretexeval.storage.disk import ReservedSpace
from pretexeval.storage.layout import model_file
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.answer_stream import AnswerStream
from tasks.asking.model_session import ModelSession
from tests.support.endpoint import build_model_config
from tests.support.evaluations import CountingEngine, ask_in_session, ignore
from tests.support.object_storage import ObjectStorage
from tests.support.raw_endpoint import RawReply, build_prompts, render_answer, serve_bytes
from tests.support.small_disk import mount_disk

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
            session.ask([(key * 32, Prompt("completion", "Fever?"))], Sampling(), ignore)
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


N_PROMPTS = 160
ENLARGE = ("mount", "-o", "remount,size=100m")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mount_disk(tmp_path / "disk", 9500 * 1024) as folder:
        yield folder


def write_text(prompt: str, n_bytes: int = 130_000) -> str:
    """Return a text that cannot be compressed much."""
    return random.Random(prompt).randbytes(n_bytes // 2).hex()


def ask(base_url: str, root: Path) -> str | None:
    """Ask what has no answer; return why the session ended early."""
    config = build_model_config(base_url, timeout_s=30, concurrency=16)
    return ask_in_session(config, root, build_prompts(*(f"p{n}" for n in range(N_PROMPTS))))[1]


def read_answers(root: Path) -> dict[str, str]:
    rows = pl.concat(map(pl.read_parquet, root.glob("responses/*/part-*.parquet")))
    return dict(rows.select("prompt", "response").iter_rows())


def test_sending_stops_before_an_answer_does_not_fit(disk: Path) -> None:
    with serve_bytes(lambda prompt, _: RawReply(render_answer(write_text(prompt)))) as endpoint:
        error = ask(endpoint.base_url, disk)
        assert "there is no room for" in str(error)
        assert "make room and run again" in str(error)
        kept = read_answers(disk)
        assert kept == {prompt: write_text(prompt) for prompt in endpoint.asked}
        assert 5 <= len(kept) < N_PROMPTS
        subprocess.run([*ENLARGE, str(disk)], check=True)
        assert ask(endpoint.base_url, disk) is None
    assert set(endpoint.asked.values()) == {1}
    assert len(read_answers(disk)) == N_PROMPTS


def test_of_answers_that_do_not_fit_as_many_as_possible_are_stored(disk: Path) -> None:
    """Another process has taken the space that was reserved. The last answer is larger than the disk."""
    store = Store(StorageConfig(root=disk)).open_responses("m")
    sizes = [300_000] * 39 + [12_000_000]

    def write(*rows: Any) -> None:  # noqa: ANN401
        store.append(*rows)

    prompts = build_prompts(*(f"p{n}" for n in range(40)))
    answers = AnswerStream(iter(prompts.items()), write, 0.0)
    with ReservedSpace(disk) as space:
        assert len(list(answers.give(space))) == 40
    for n, size in enumerate(sizes):
        answers.receive(n, Completion(write_text(f"p{n}", size)))
    with pytest.raises(OSError, match="No space") as raised:
        answers.store_what_fits()
    assert raised.value.errno in FULL_DISK
    n_kept = len(read_answers(disk))
    assert n_kept >= 25
    assert n_kept == answers.n_received - len(answers.waiting) == 40 - len(answers.waiting)
    with suppress(OSError):
        answers.store_what_fits()
    subprocess.run([*ENLARGE, str(disk)], check=True)
    answers.store_what_fits()
    assert len(read_answers(disk)) == 40


def test_prompts_are_given_until_32_in_a_row_have_failed(tmp_path: Path) -> None:
    prompts = build_prompts(*(f"p{n}" for n in range(100)))
    answers = AnswerStream(iter(prompts.items()), lambda *_: None, 0.0, stops_at_failures=True)
    failed = Completion(None, status="error", error="HTTP 500: Error code: 500")
    with ReservedSpace(tmp_path) as space:
        for n, _ in enumerate(answers.give(space)):
            answers.receive(n, Completion("True") if n == 20 else failed)
    assert answers.n_received == 20 + 1 + 32
    assert next(answers.source)[0] == list(prompts)[20 + 1 + 32]


def test_a_signal_does_not_break_off_the_storing_of_answers(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker ends a run that has noticed that it is cancelled, and stores its answers."""
    append = ResponseStore.append

    def interrupt(*_: object) -> None:
        raise InterruptedError

    def append_slowly(store: ResponseStore, *rows: Any) -> Path:  # noqa: ANN401
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.5)
        return append(store, *rows)

    monkeypatch.setattr(ResponseStore, "append", append_slowly)
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(InterruptedError):
            cache.ask("a")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert list(read_answers(cache.storage.root)) == ["Fever?"]
