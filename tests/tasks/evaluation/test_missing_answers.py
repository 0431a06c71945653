"""Prompts without an answer are asked once, whatever happens to the engine and whoever else asks."""

import errno
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import polars as pl
import pytest
from pydantic import ValidationError

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import AskingReport, Shard, ask_missing, ask_shard, list_shard
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import is_complete, read_run
from tests.support.command import read_bytes
from tests.support.evaluations import Scripted, ask_model, finish, ignore, list_prompts
from tests.tasks.evaluation.conftest import Serve

BOTH = (Shard(number=1, of=2), Shard(number=2, of=2))


def forbid(_: EngineConfig) -> Engine:
    raise AssertionError("an engine was loaded")


def test_every_prompt_of_each_model_is_asked_once_and_never_again(serve: Serve) -> None:
    yes, no = serve("yes"), serve("no", lambda _: "False")
    n_samples = len(list_prompts(yes))
    for evaluation, answer in ((yes, " True"), (no, "False")):
        assert ask_model(evaluation) == AskingReport(n_samples=n_samples, n_asked=n_samples)
        assert set(evaluation.store.read()["response"]) == {answer}
    assert ask_model(serve("few", pairs_per_relation=2)).n_samples == 2 * 2 * 16
    before = read_bytes(yes.root / "responses")
    assert ask_model(yes, forbid) == AskingReport(n_samples=n_samples, n_reused=n_samples)
    assert read_bytes(yes.root / "responses") == before


def fail_with(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise error

    return fail


class PanicException(BaseException):
    """What the libraries in Rust raise."""


def test_any_error_of_an_engine_but_an_interrupt_or_a_full_disk_is_a_failure_of_its_model(
    evaluation: Evaluation,
) -> None:
    errors: dict[BaseException, str] = {
        RuntimeError("EngineCore died\nsee the log"): "RuntimeError: EngineCore died see the log",
        MemoryError(): "MemoryError",
        PermissionError(errno.EACCES, "Permission denied"): "PermissionError: ",
        ImportError("no kernel"): "ImportError: no kernel",
        PanicException("index out of bounds"): "PanicException: index out of bounds",
    }
    for error, said in errors.items():
        with pytest.raises(InputError, match=f"model 'yes': its engine crashed .{said}"):
            ask_model(evaluation, Scripted(fail_with(error)).load)
        with pytest.raises(InputError, match=f"model 'yes': it cannot be loaded .{said}"):
            ask_model(evaluation, fail_with(error))
    for error in (OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), SystemExit(1)):
        with pytest.raises(type(error)):
            ask_model(evaluation, fail_with(error))


def test_failed_prompt_is_stored_as_a_row_and_asked_again(serve: Serve) -> None:
    evaluation = serve("half", lambda text: None if "dn 1" in text[-130:] else "True")
    report = ask_model(evaluation)
    assert 0 < report.n_errors == report.n_open < report.n_asked == report.n_samples
    finish(evaluation, report)
    assert read_run(evaluation)["n_errors"] == report.n_errors
    assert not is_complete(evaluation)
    failed = evaluation.store.read().filter(pl.col("status") == "error")
    assert failed.height == report.n_errors
    assert failed["response"].null_count() == failed.height
    assert failed["error"].null_count() == 0
    assert ask_model(evaluation).n_asked == report.n_errors


def test_concurrent_processes_ask_every_prompt_once(evaluation: Evaluation) -> None:
    def answer(*_: object) -> str:
        # The other thread has time to start.
        time.sleep(0.005)
        return " True"

    engine, requests = Scripted(answer), write_requests(evaluation)
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(ask_missing, evaluation, requests, Store(evaluation.storage), ignore, engine.load)
            for _ in range(2)
        ]
    reports = [future.result() for future in both]
    assert len(engine.asked) == reports[0].n_samples
    assert sorted(report.n_asked for report in reports) == [0, reports[0].n_samples]


def test_each_text_belongs_to_one_shard_and_shards_are_even() -> None:
    texts = [str(n) for n in range(3000)]
    for of in (2, 3, 7):
        shards = [Shard(number=n, of=of) for n in range(1, of + 1)]
        counts = Counter(tuple(shard.number for shard in shards if shard.contains(text)) for text in texts)
        assert sorted(counts) == [(n,) for n in range(1, of + 1)]
        assert max(counts.values()) < 1.2 * len(texts) / of
    with pytest.raises(ValidationError, match="there is no shard 3 of 2"):
        Shard(number=3, of=2)


def test_two_shards_are_asked_together_and_share_no_prompt(evaluation: Evaluation) -> None:
    together = threading.Barrier(2)
    engines = {shard: Scripted() for shard in BOTH}

    def ask(shard: Shard) -> int:
        def load(_: EngineConfig) -> Engine:
            together.wait(60)
            return engines[shard]

        asked = list_shard(evaluation, shard)
        return ask_shard(evaluation, asked, shard, Store(evaluation.storage), ignore, load)

    with ThreadPoolExecutor(2) as pool:
        n_asked = list(pool.map(ask, BOTH))
    asked = {shard: {text for text, _ in engine.asked} for shard, engine in engines.items()}
    assert n_asked == [len(asked[shard]) for shard in BOTH]
    assert not asked[BOTH[0]] & asked[BOTH[1]]
    n_samples = len(list_prompts(evaluation))
    assert ask_model(evaluation, forbid) == AskingReport(n_samples=n_samples, n_reused=n_samples)
