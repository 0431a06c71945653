import errno
import json
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine, IncrementalEngine
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling
from schemas.stages import PREDICTIONS, READINGS, REQUESTS
from tasks.asking import model_session
from tasks.asking.model_session import ModelSession
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import AskingReport
from tasks.evaluation.run_record import is_complete
from tests.support import evaluations
from tests.support.evaluations import ask_model, list_keys, list_prompts
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
Answer = Callable[[Prompt], str | None]
Evaluate = Callable[..., Evaluation]


def forbid(_: EngineConfig) -> Engine:
    raise AssertionError("an engine was loaded")


def say_true(_: Prompt) -> str:
    return " True"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The root and the name of a complete edition; every test gets a copy."""
    root = tmp_path_factory.mktemp("built")
    edition = make_edition(root, BASE)
    return root, complete_edition(edition, list(write_files(edition).values()), [])


@pytest.fixture
def evaluate(tmp_path: Path, built: tuple[Path, str]) -> Evaluate:
    """Return a function that makes an evaluation of a model with recorded answers."""
    root, edition_id = built
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    storage = StorageConfig(root=tmp_path)

    def write(name: str, answer: Answer = say_true, **table: object) -> Evaluation:
        recording = tmp_path / f"{name}.parquet"
        pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
        table |= {"name": name, "engine": "recorded", "model": str(recording)}
        model = ModelConfig.model_validate(table)
        answers = [(p.text, answer(p)) for p in list_prompts(Evaluation(storage, edition_id, model))]
        rows = [row for row in answers if row[1] is not None]
        pl.DataFrame(rows, schema=["prompt", "response"], orient="row").write_parquet(recording)
        return Evaluation(storage, edition_id, model)

    return write


def read_files(evaluation: Evaluation) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in evaluation.store.list_files()}


def finish(evaluation: Evaluation, report: AskingReport) -> dict[str, object]:
    evaluations.finish(evaluation, report)
    path = evaluation.root / evaluation.folder / "run.json"
    record: dict[str, object] = json.loads(path.read_text())
    return record


def test_every_prompt_is_asked_once_and_never_again(evaluate: Evaluate) -> None:
    evaluation = evaluate("yes")
    n_samples = len(list_prompts(evaluation))
    report = ask_model(evaluation)
    assert report == AskingReport(n_samples=n_samples, n_asked=n_samples)
    before = read_files(evaluation)
    again = ask_model(evaluation, forbid)
    assert again == AskingReport(n_samples=n_samples, n_reused=n_samples)
    assert read_files(evaluation) == before


def test_each_model_is_asked_all_prompts(evaluate: Evaluate) -> None:
    yes, no = evaluate("yes"), evaluate("no", lambda _: "False")
    n_asked = [ask_model(evaluation).n_asked for evaluation in (yes, no)]
    assert n_asked == 2 * [len(list_prompts(yes))]
    assert set(yes.store.read()["response"]) == {" True"}
    assert set(no.store.read()["response"]) == {"False"}


def test_stored_chunks_survive_an_interruption(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_session, "TRIAL_CHUNK", 40)
    evaluation = evaluate("yes")
    engine = load_engine(evaluation.model)
    generate = engine.generate
    n_prompts: list[int] = []

    def interrupt_second(
        prompts: Sequence[Prompt], sampling: Sampling, on_progress: Callable[[int], None] | None = None
    ) -> list[Completion]:
        if n_prompts:
            raise KeyboardInterrupt
        n_prompts.append(len(prompts))
        return generate(prompts, sampling, on_progress)

    monkeypatch.setattr(engine, "generate", interrupt_second)
    with pytest.raises(KeyboardInterrupt):
        ask_model(evaluation, lambda _: engine)
    kept = read_files(evaluation)
    assert n_prompts == [40]
    report = ask_model(evaluation)
    assert (report.n_asked, report.n_reused) == (report.n_samples - 40, 40)
    assert kept.items() <= read_files(evaluation).items()


class PanicException(BaseException):
    """What the libraries in Rust raise."""


ERRORS = (
    ValueError("bad header"),
    json.JSONDecodeError("truncated", "", 0),
    MemoryError(),
    PermissionError(errno.EACCES, "Permission denied"),
    ImportError("no kernel"),
    RecursionError(),
    PanicException("index out of bounds"),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("is_loaded", [False, True])
def test_any_error_of_an_engine_is_a_failure_of_its_model(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch, error: BaseException, is_loaded: bool
) -> None:
    evaluation = evaluate("yes")

    def fail(*_: object) -> NoReturn:
        raise error

    def load(config: EngineConfig) -> Engine:
        engine = load_engine(config)
        monkeypatch.setattr(engine, "generate", fail)
        return engine if is_loaded else fail()

    what = "its engine crashed" if is_loaded else "it cannot be loaded"
    with pytest.raises(InputError, match=f"model 'yes': {what} .{type(error).__name__}"):
        ask_model(evaluation, load)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), SystemExit(1)])
def test_interrupts_and_a_full_disk_are_no_failure_of_a_model(
    evaluate: Evaluate, error: BaseException
) -> None:
    def fail(_: EngineConfig) -> Engine:
        raise error

    with pytest.raises(type(error)):
        ask_model(evaluate("yes"), fail)


def test_answers_before_the_engine_was_lost_are_stored(evaluate: Evaluate) -> None:
    evaluation = evaluate("yes")

    class Lost(IncrementalEngine):
        def generate_into(
            self, received: dict[int, Completion], prompts: Sequence[Prompt], *_: object
        ) -> None:
            received.update({position: Completion(prompts[position].text[:20]) for position in (1, 4)})
            raise InputError("gone")

        def close(self) -> None: ...

    with pytest.raises(InputError, match="gone"):
        ask_model(evaluation, lambda _: Lost())
    kept = evaluation.store.read()
    assert kept.height == 2
    assert kept["response"].to_list() == kept["prompt"].str.slice(0, 20).to_list()
    report = ask_model(evaluation)
    assert (report.n_asked, report.n_open) == (report.n_samples - 2, 0)


def test_failed_prompt_is_stored_as_a_row_and_asked_again(evaluate: Evaluate) -> None:
    evaluation = evaluate("half", lambda p: None if "dn 1" in p.text[-130:] else "True")
    report = ask_model(evaluation)
    assert 0 < report.n_errors == report.n_open < report.n_asked == report.n_samples
    assert finish(evaluation, report)["n_errors"] == report.n_errors
    assert not is_complete(evaluation)
    failed = evaluation.store.read().filter(pl.col("status") == "error")
    assert failed.height == report.n_errors
    assert failed["response"].null_count() == failed.height
    assert failed["error"].null_count() == 0
    assert ask_model(evaluation).n_asked == report.n_errors


def test_prompt_that_is_too_long_is_not_asked_again(evaluate: Evaluate) -> None:
    evaluation = evaluate("long")
    rows = list_keys(evaluation)
    too_long = Completion(None, status="error", error=f"{PROMPT_TOO_LONG}: 900 tokens")
    evaluation.store.append(rows, list(list_prompts(evaluation)), [too_long] * len(rows))
    report = ask_model(evaluation, forbid)
    assert (report.n_asked, report.n_errors, report.n_open) == (0, len(rows), 0)


def test_repeats_of_a_prompt_are_stored_apart(evaluate: Evaluate) -> None:
    evaluation = evaluate("m")
    prompts = {f"{n:032x}": Prompt("completion", f"p{n}") for n in range(3)}
    seeds = []

    class Sampled:
        def generate(
            self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: object = None
        ) -> list[Completion]:
            seeds.append(sampling.seed_of_repeat)
            return [Completion(f"{prompt.text} {sampling.repeat}") for prompt in prompts]

        def close(self) -> None: ...

    store = Store(evaluation.storage)
    with ModelSession(evaluation.model, store, lambda _: Sampled()) as session:
        for repeat in range(2):
            session.ask(prompts, Sampling(seed=7, repeat=repeat), lambda _: None)
    rows = evaluation.store.read(["prompt_key", "repeat", "response"]).sort("prompt_key", "repeat")
    assert rows["response"].to_list() == ["p0 0", "p0 1", "p1 0", "p1 1", "p2 0", "p2 1"]
    assert seeds == [7, 8]
    assert evaluation.store.read_settled_keys(1) == set(prompts)
    assert evaluation.store.read_settled_keys(2) == set()


def test_evaluation_is_complete_until_a_file_is_damaged(evaluate: Evaluate) -> None:
    evaluation = evaluate("yes")
    assert not is_complete(evaluation)
    record = finish(evaluation, ask_model(evaluation))
    assert is_complete(evaluation)
    files = list((evaluation.root / evaluation.folder).rglob("*.parquet"))
    assert sorted(path.parent.name for path in files) == sorted(
        2 * [REQUESTS.name, READINGS.name, PREDICTIONS.name]
    )
    assert isinstance(record["files"], dict)
    assert len(record["files"]) == len(files)
    files[0].write_bytes(b"changed")
    assert not is_complete(evaluation)


def test_pairs_per_relation_limits_the_prompts(evaluate: Evaluate) -> None:
    report = ask_model(evaluate("few", pairs_per_relation=2))
    assert report.n_samples == 2 * 2 * 16


def test_concurrent_processes_ask_every_prompt_once(evaluate: Evaluate) -> None:
    evaluation = evaluate("model")
    n_prompts: list[int] = []

    class Slow:
        """Answers only after the other thread has had time to start."""

        def generate(
            self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: object = None
        ) -> list[Completion]:
            time.sleep(0.5)
            n_prompts.append(len(prompts))
            return [Completion(" True") for _ in prompts]

        def close(self) -> None:
            """Close nothing."""

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ask_model, evaluation, lambda _: Slow()) for _ in range(2)]
    reports = [future.result() for future in both]
    assert sum(n_prompts) == reports[0].n_samples
    assert sorted(report.n_asked for report in reports) == [0, reports[0].n_samples]
