"""Answers and evaluations that hosts exchange through a bucket."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.config.file import Config
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.publication import sync_everything
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt
from tasks.asking.model_session import ModelSession
from tasks.asking.thoughts import ReasoningMarks
from tasks.edition.edition import Edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.failures import has_failure, record_failure, write_failure
from tasks.evaluation.predictions import Scoring
from tasks.evaluation.request_files import build_relation_requests
from tasks.evaluation.run_record import is_complete
from tests.pretexeval.storage.conftest import Host, read_tree
from tests.support.evaluations import ask_model, finish, ignore, list_prompts
from tests.support.object_storage import ObjectStorage


class SlowEngine:
    """Answers true, slowly enough for another process to start meanwhile."""

    def __init__(self) -> None:
        self.n_prompts = 0

    def generate(self, prompts: Sequence[Prompt], *_: object) -> list[Completion]:
        time.sleep(0.3)
        self.n_prompts += len(prompts)
        return [Completion(" True") for _ in prompts]

    def close(self) -> None:
        """Close nothing."""


# Every answer is read as a thought that does not end.
UNFINISHED = Scoring(marks=ReasoningMarks("", "</think>"))


def forbid(_: EngineConfig) -> Engine:
    raise AssertionError("an engine was loaded")


@pytest.fixture
def evaluations(hosts: tuple[Host, Host], edition: Edition, tmp_path: Path) -> list[Evaluation]:
    """Return the same evaluation as each host sees it."""
    recording = tmp_path / "model.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    model = ModelConfig(name="model", engine="recorded", model=str(recording))
    Store(hosts[0]).push_edition(edition.edition_id)
    Store(hosts[1]).pull_edition(edition.edition_id)
    return [Evaluation(host, edition.edition_id, model) for host in hosts]


def evaluate(evaluation: Evaluation, engine: Engine) -> None:
    store = Store(evaluation.storage)
    store.pull_evaluation(evaluation.edition_id, evaluation.model_id)
    finish(evaluation, ask_model(evaluation, lambda _: engine))
    store.push_evaluation(evaluation.edition_id, evaluation.model_id)


def test_answers_of_one_host_are_not_asked_again_by_another(evaluations: list[Evaluation]) -> None:
    evaluate(evaluations[0], SlowEngine())
    other = evaluations[1]
    Store(other.storage).pull_evaluation(other.edition_id, other.model_id)
    assert is_complete(other)
    report = ask_model(other, forbid)
    assert (report.n_asked, report.n_reused) == (0, report.n_samples)
    kinds = ("responses", "predictions")
    assert read_tree(other.root, *kinds) == read_tree(evaluations[0].root, *kinds)


def test_concurrent_hosts_ask_every_prompt_once(evaluations: list[Evaluation]) -> None:
    engine = SlowEngine()
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ask_model, evaluation, lambda _: engine) for evaluation in evaluations]
    reports = [future.result() for future in both]
    assert engine.n_prompts == reports[0].n_samples == sum(report.n_asked for report in reports)


def test_unsent_answers_are_kept_and_sent_by_the_next_run(
    evaluations: list[Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = evaluations
    engine = SlowEngine()

    def fail(path: str, source: Path) -> None:
        raise InputError("the storage is unreachable")

    with ModelSession(first.model, Store(first.storage), lambda _: engine) as session:
        prompts = {
            key: prompt
            for _, asked in build_relation_requests(first)
            for key, prompt in zip(asked.frame["prompt_key"], asked.prompts, strict=True)
        }
        session.write_model_record()
        assert session._shared.bucket is not None
        monkeypatch.setattr(session._shared.bucket, "send", fail)
        session._engine = engine
        chunk = dict(list(prompts.items())[:5])
        with pytest.raises(InputError, match="unreachable"):
            session.ask_and_store(chunk, first.request_settings.sampling, ignore)
    assert first.store.read().height == 5
    assert second.store.read().height == 0
    report = ask_model(first, lambda _: engine)
    assert report.n_asked == len(prompts) - 5
    Store(second.storage).sync_responses(second.model_id)
    assert second.store.read_settled_keys() == set(prompts)


def test_damaged_answers_in_the_bucket_are_not_used(evaluations: list[Evaluation]) -> None:
    first, second = evaluations
    evaluate(first, SlowEngine())
    store = Store(second.storage)
    name, *others = [path.name for path in first.store.list_files()]
    assert store.bucket is not None
    damaged = b"-" * (first.store.folder / name).stat().st_size
    store.bucket.send(f"responses/{first.model_id}/{name}", damaged)
    store.sync_responses(second.model_id)
    assert [path.name for path in second.store.list_files()] == others
    assert store.bucket.read(f"responses/{first.model_id}/{name}.damaged") == damaged
    Store(first.storage).sync_responses(first.model_id)
    store.sync_responses(second.model_id)
    assert second.store.read().height == len(list_prompts(first))


def test_evaluation_scored_again_replaces_the_old_one(evaluations: list[Evaluation]) -> None:
    evaluate(evaluations[0], SlowEngine())
    first, second = (replace(evaluation, scoring=UNFINISHED) for evaluation in evaluations)
    evaluate(evaluations[1], SlowEngine())
    evaluate(second, SlowEngine())
    assert not is_complete(first)
    Store(first.storage).pull_evaluation(first.edition_id, first.model_id)
    assert is_complete(first)
    assert read_tree(first.root, "predictions") == read_tree(second.root, "predictions")


def test_an_evaluation_has_no_record_while_its_files_are_replaced(
    evaluations: list[Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(evaluations[0], SlowEngine())
    changed = replace(evaluations[0], scoring=UNFINISHED)
    finish(changed, ask_model(changed, forbid))
    store = Store(changed.storage)
    assert store.bucket is not None
    assert store.bucket.read(f"{changed.folder}/run.json") is not None

    def fail(path: str, source: Path) -> None:
        raise InputError("the storage is unreachable")

    monkeypatch.setattr(store.bucket, "send", fail)
    with pytest.raises(InputError, match="unreachable"):
        store.push_evaluation(changed.edition_id, changed.model_id)
    assert store.bucket.read(f"{changed.folder}/run.json") is None


def test_failures_of_other_hosts_are_fetched_until_they_are_removed(
    evaluations: list[Evaluation],
) -> None:
    one, other = (Store(evaluation.storage) for evaluation in evaluations)
    edition_id = evaluations[0].edition_id
    config = Config(storage=evaluations[0].storage)
    for name in ("v1.5", "large"):
        write_failure(one, config, edition_id, name, f"{name} is down")
    assert has_failure(other, edition_id, "large")
    sync_everything(other)
    assert read_tree(other.root, "failures") == read_tree(one.root, "failures")
    with record_failure(one, config, edition_id, "large"):
        """Succeed."""
    sync_everything(other)
    assert list(read_tree(other.root, "failures")) == [f"failures/{edition_id}/v1.5.json"]
    assert not has_failure(other, edition_id, "large")


def test_evaluation_that_is_being_replaced_is_skipped(evaluations: list[Evaluation]) -> None:
    first, second = evaluations
    evaluate(first, SlowEngine())
    store = Store(second.storage)
    file = next(path for path in read_tree(first.root, "predictions") if path.endswith(".parquet"))
    assert store.bucket is not None
    store.bucket.send(file, b"newer than its record")
    store.pull_evaluation(second.edition_id, second.model_id)
    assert not (second.root / second.folder / "run.json").exists()


def test_files_made_before_the_bucket_was_configured_are_sent_too(
    hosts: tuple[Host, Host], evaluations: list[Evaluation], moto: ObjectStorage
) -> None:
    evaluate(evaluations[0], SlowEngine())
    fresh = moto.make_address()
    one, other = (host.model_copy(update={"shared": fresh}) for host in hosts)
    new = other.model_copy(update={"root": other.root / "new"})
    sync_everything(Store(one))
    sync_everything(Store(new))
    kinds = ("editions", "responses", "predictions")
    assert read_tree(new.root, *kinds) == read_tree(one.root, *kinds)


@pytest.mark.parametrize("record", ["run", "model"])
def test_damaged_records_of_an_evaluation_in_the_bucket_are_sent_again(
    evaluations: list[Evaluation], record: str
) -> None:
    first, second = evaluations
    finish(first, ask_model(first, lambda _: SlowEngine()))
    stores = [Store(evaluation.storage) for evaluation in evaluations]
    bucket = stores[0].bucket
    assert bucket is not None
    folder = first.folder if record == "run" else f"responses/{first.model_id}"
    stores[0].sync_responses(first.model_id)
    stores[0].push_evaluation(first.edition_id, first.model_id)
    bucket.send(f"{folder}/{record}.json", b'{"files": ')
    stores[1].pull_evaluation(second.edition_id, second.model_id)
    assert bucket.read(f"{folder}/{record}.json") is None
    stores[0].sync_responses(first.model_id)
    stores[0].push_evaluation(first.edition_id, first.model_id)
    stores[1].pull_evaluation(second.edition_id, second.model_id)
    assert read_tree(first.root, folder).items() <= read_tree(second.root, folder).items()
