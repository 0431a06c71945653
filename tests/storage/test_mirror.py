"""Hosts that share a bucket: each has a folder of its own here, and Moto's server is between them."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from config.engines import EngineConfig, ModelConfig
from config.tables import StorageConfig
from engines.base import Engine
from primitives.checksums import checksum_file
from primitives.errors import InputError
from schemas.exchange import Completion, Prompt
from storage.mirror import Mirror
from storage.publication import hold_publication, sync_all
from storage.records import read_manifest_files
from tasks.asking.answer_extraction import AnswerWords
from tasks.asking.asker import Asker
from tasks.edition.edition import Edition, complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.predictions import Scoring
from tasks.evaluation.request_files import build_relations
from tasks.evaluation.run_record import is_complete
from tests.support.evaluations import ask_model, finish, ignore, list_prompts
from tests.support.object_storage import ObjectStorage
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
Host = StorageConfig


class Yes:
    """Answers true, slowly enough for another to come in between."""

    def __init__(self) -> None:
        self.n_prompts = 0

    def generate(self, prompts: Sequence[Prompt], *_: object) -> list[Completion]:
        time.sleep(0.3)
        self.n_prompts += len(prompts)
        return [Completion(" True") for _ in prompts]

    def close(self) -> None:
        """Nothing is held."""


def forbid(_: EngineConfig) -> Engine:
    raise AssertionError("an engine was loaded")


@pytest.fixture
def hosts(moto: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Host, Host]:
    moto.set_environment(monkeypatch)
    shared = moto.make_address()
    return StorageConfig(root=tmp_path / "a", shared=shared), StorageConfig(
        root=tmp_path / "b", shared=shared
    )


@pytest.fixture
def edition(hosts: tuple[Host, Host]) -> Edition:
    """Complete on the first host."""
    planned = make_edition(hosts[0].root, BASE)
    complete_edition(planned, list(write_files(planned).values()), [])
    return planned


@pytest.fixture
def evaluations(hosts: tuple[Host, Host], edition: Edition, tmp_path: Path) -> list[Evaluation]:
    """The same one as each host sees it."""
    recording = tmp_path / "model.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    model = ModelConfig(name="model", engine="recorded", model=str(recording))
    Mirror(hosts[0]).push_edition(edition.edition_id)
    Mirror(hosts[1]).pull_edition(edition.edition_id)
    return [Evaluation(host, edition.edition_id, model) for host in hosts]


def read_tree(root: Path, *folders: str) -> dict[str, str]:
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): checksum_file(path) for path in paths}


def evaluate(evaluation: Evaluation, engine: Engine) -> None:
    mirror = Mirror(evaluation.storage)
    mirror.pull_evaluation(evaluation.edition_id, evaluation.model_id)
    finish(evaluation, ask_model(evaluation, lambda _: engine))
    mirror.push_evaluation(evaluation.edition_id, evaluation.model_id)


def test_without_a_bucket_there_is_nothing_to_do(tmp_path: Path) -> None:
    mirror = Mirror(StorageConfig(root=tmp_path))
    mirror.pull_evaluation("edition", "model")
    mirror.push_edition("edition")
    sync_all(mirror)
    with mirror.hold("model") as require_turn, hold_publication(mirror):
        require_turn()
    assert not list(tmp_path.iterdir())


def test_an_edition_is_the_same_to_the_byte_on_another_host(
    hosts: tuple[Host, Host], edition: Edition
) -> None:
    first, second = (Mirror(host) for host in hosts)
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    tree = read_tree(hosts[0].root, "editions")
    assert len(tree) == 1 + 2 * 4
    assert read_tree(hosts[1].root, "editions") == tree


def test_an_edition_is_not_there_before_all_of_it_is(
    hosts: tuple[Host, Host], edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Mirror(host) for host in hosts)
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


def test_what_is_damaged_here_is_brought_again_and_what_is_damaged_there_is_not_kept(
    hosts: tuple[Host, Host], edition: Edition
) -> None:
    first, second = (Mirror(host) for host in hosts)
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    here, there = sorted(read_manifest_files(hosts[0].root, edition.edition_id))[:2]
    (hosts[1].root / here).write_bytes(b"changed")
    (hosts[1].root / there).unlink()
    assert second.bucket is not None
    # Of the same size: nobody would see it from the list.
    second.bucket.send(there, b"-" * (hosts[0].root / there).stat().st_size)
    second.pull_edition(edition.edition_id)
    assert checksum_file(hosts[1].root / here) == checksum_file(hosts[0].root / here)
    assert not (hosts[1].root / there).exists()
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(hosts[1].root, "editions") == read_tree(hosts[0].root, "editions")


def test_an_edition_that_lost_files_is_not_sent(hosts: tuple[Host, Host], edition: Edition) -> None:
    first = Mirror(hosts[0])
    path = next(iter(read_manifest_files(hosts[0].root, edition.edition_id)))
    (hosts[0].root / path).write_bytes(b"changed")
    first.push_edition(edition.edition_id)
    assert first.bucket is not None
    assert first.bucket.list_objects("editions") == {}


def test_two_editions_of_one_name_are_told_apart(hosts: tuple[Host, Host], edition: Edition) -> None:
    first, second = (Mirror(host) for host in hosts)
    first.push_edition(edition.edition_id)
    path = hosts[1].root / edition.folder / "manifest.json"
    path.parent.mkdir(parents=True)
    manifest = json.loads((hosts[0].root / edition.folder / "manifest.json").read_text())
    path.write_text(json.dumps(manifest | {"n_pairs": 1}))
    for act in (second.pull_edition, second.push_edition):
        with pytest.raises(InputError, match=r"differ: .*delete"):
            act(edition.edition_id)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"files": {"../../x": {"rows": 1, "sha256": "0"}}}'])
def test_a_record_that_cannot_be_used_is_said(
    hosts: tuple[Host, Host], edition: Edition, content: bytes
) -> None:
    mirror = Mirror(hosts[1])
    assert mirror.bucket is not None
    mirror.bucket.send(f"{edition.folder}/manifest.json", content)
    with pytest.raises(InputError, match=r"manifest\.json: cannot be read; delete it"):
        mirror.pull_edition(edition.edition_id)
    assert not hosts[1].root.exists()


def test_what_one_host_asked_no_other_asks(evaluations: list[Evaluation]) -> None:
    evaluate(evaluations[0], Yes())
    other = evaluations[1]
    Mirror(other.storage).pull_evaluation(other.edition_id, other.model_id)
    assert is_complete(other)
    report = ask_model(other, forbid)
    assert (report.n_asked, report.n_reused) == (0, report.n_samples)
    kinds = ("responses", "predictions")
    assert read_tree(other.root, *kinds) == read_tree(evaluations[0].root, *kinds)


def test_hosts_that_ask_at_once_ask_every_prompt_once(evaluations: list[Evaluation]) -> None:
    engine = Yes()
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ask_model, each, lambda _: engine) for each in evaluations]
    reports = [each.result() for each in both]
    assert engine.n_prompts == reports[0].n_samples == sum(report.n_asked for report in reports)


def test_answers_that_could_not_be_sent_are_kept_and_sent_by_the_next_run(
    evaluations: list[Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = evaluations
    engine = Yes()

    def fail(path: str, source: Path) -> None:
        raise InputError("the storage is away")

    with Asker(first.model, Mirror(first.storage), lambda _: engine) as asker:
        prompts = {
            key: prompt
            for _, asked in build_relations(first)
            for key, prompt in zip(asked.frame["prompt_key"], asked.prompts, strict=True)
        }
        asker.write_model()
        assert asker._mirror.bucket is not None
        monkeypatch.setattr(asker._mirror.bucket, "send", fail)
        asker._engine = engine
        chunk = dict(list(prompts.items())[:5])
        with pytest.raises(InputError, match="away"):
            asker.ask_chunk(chunk, first.asking.sampling, ignore)
    assert first.store.read().height == 5
    assert second.store.read().height == 0
    report = ask_model(first, lambda _: engine)
    assert report.n_asked == len(prompts) - 5
    Mirror(second.storage).sync_responses(second.model_id)
    assert second.store.read_settled_keys() == set(prompts)


def test_damaged_answers_in_the_bucket_are_not_taken(evaluations: list[Evaluation]) -> None:
    first, second = evaluations
    evaluate(first, Yes())
    mirror = Mirror(second.storage)
    (name,) = [path.name for path in first.store.list_files()]
    assert mirror.bucket is not None
    damaged = b"-" * (first.store.folder / name).stat().st_size
    mirror.bucket.send(f"responses/{first.model_id}/{name}", damaged)
    mirror.sync_responses(second.model_id)
    assert second.store.read().height == 0
    assert mirror.bucket.read(f"responses/{first.model_id}/{name}.damaged") == damaged
    Mirror(first.storage).sync_responses(first.model_id)
    mirror.sync_responses(second.model_id)
    assert second.store.read().height == len(list_prompts(first))


def test_an_evaluation_scored_anew_takes_the_place_of_the_old(evaluations: list[Evaluation]) -> None:
    evaluate(evaluations[0], Yes())
    words = Scoring(words=AnswerWords(true=("yes",), false=("no",)))
    first, second = (replace(each, scoring=words) for each in evaluations)
    evaluate(evaluations[1], Yes())
    evaluate(second, Yes())
    assert not is_complete(first)
    Mirror(first.storage).pull_evaluation(first.edition_id, first.model_id)
    assert is_complete(first)
    assert read_tree(first.root, "predictions") == read_tree(second.root, "predictions")


def test_an_evaluation_that_is_being_written_anew_is_passed_by(evaluations: list[Evaluation]) -> None:
    first, second = evaluations
    evaluate(first, Yes())
    mirror = Mirror(second.storage)
    file = next(path for path in read_tree(first.root, "predictions") if path.endswith(".parquet"))
    assert mirror.bucket is not None
    mirror.bucket.send(file, b"newer than its record")
    mirror.pull_evaluation(second.edition_id, second.model_id)
    assert not (second.root / second.folder / "run.json").exists()


def test_what_was_made_before_there_was_a_bucket_is_sent_too(
    hosts: tuple[Host, Host], evaluations: list[Evaluation], moto: ObjectStorage
) -> None:
    evaluate(evaluations[0], Yes())
    fresh = moto.make_address()
    one, other = (host.model_copy(update={"shared": fresh}) for host in hosts)
    new = other.model_copy(update={"root": other.root / "new"})
    sync_all(Mirror(one))
    sync_all(Mirror(new))
    kinds = ("editions", "responses", "predictions")
    assert read_tree(new.root, *kinds) == read_tree(one.root, *kinds)
