"""Requests on disk: written once, reused, and written again if a file is missing."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import polars as pl
import pytest

from schemas.stages import REQUESTS
from tasks.asking.thoughts import ReasoningMarks
from tasks.evaluation import requests
from tasks.evaluation.evaluation import Evaluation, hold_evaluation
from tasks.evaluation.predictions import Scoring
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import is_complete
from tasks.evaluation.scoring import score_again
from tests.support.evaluations import ask_model, finish, list_keys


@pytest.fixture
def forbid_rendering(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes every later rendering of prompts an error."""

    def refuse(*_: object) -> None:
        raise AssertionError("a prompt was rendered")

    return lambda: monkeypatch.setattr(requests, "build_requests", refuse)


def test_requests_are_written_before_the_model_is_asked(evaluation: Evaluation) -> None:
    written = write_requests(evaluation)
    frame = pl.concat(pl.read_parquet(evaluation.root / ref.path) for ref in written.files)
    assert frame.columns == REQUESTS.names
    prompts = {key for ref in written.files for key in written.read_prompts(ref)}
    assert prompts == set(frame["prompt_key"])
    assert evaluation.store.is_empty


def test_run_after_an_interruption_reuses_the_requests(
    evaluation: Evaluation, forbid_rendering: Callable[[], None]
) -> None:
    before = write_requests(evaluation)
    forbid_rendering()
    assert write_requests(evaluation) == before


def test_complete_evaluation_is_scored_again_without_rendering(
    evaluation: Evaluation, forbid_rendering: Callable[[], None]
) -> None:
    finish(evaluation, ask_model(evaluation))
    assert is_complete(evaluation)
    folder = evaluation.root / evaluation.folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "predictions",
        "readings",
        "requests",
        "run.json",
    ]
    forbid_rendering()
    # Every answer is read as a thought that does not end.
    unfinished = Scoring(policies=("excluded",), marks=ReasoningMarks("", "</think>"))
    score_again(replace(evaluation, scoring=unfinished))
    predictions = pl.read_parquet(folder / "predictions/*.parquet")
    assert predictions["prediction"].null_count() == predictions.height
    assert set(predictions["scoring_policy"]) == {"strict", "excluded"}


@pytest.mark.parametrize("lost", ["next/requests/r.parquet", "next/prompts/r.parquet", "next/requests.json"])
def test_lost_file_is_written_again(evaluation: Evaluation, lost: str) -> None:
    before = write_requests(evaluation)
    (evaluation.root / evaluation.folder / lost).unlink()
    assert write_requests(evaluation) == before
    assert (evaluation.root / evaluation.folder / lost).is_file()


def test_lost_answers_are_asked_again(evaluation: Evaluation) -> None:
    finish(evaluation, ask_model(evaluation))
    for path in evaluation.store.list_files():
        path.unlink()
    assert not is_complete(evaluation)
    report = ask_model(evaluation)
    assert report.n_asked == report.n_samples


def test_anchors_are_asked_once_in_each_period(evaluation: Evaluation) -> None:
    asked: dict[str | None, int] = {}
    for period in (None, "2026-W47", "2026-W48", "2026-W47"):
        place = replace(evaluation, period=period)
        report = ask_model(place)
        finish(place, report)
        asked[period] = asked.get(period, 0) + report.n_asked
        assert is_complete(place)
    assert len(set(asked.values())) == 1
    keys = [set(list_keys(replace(evaluation, period=period))) for period in asked]
    assert not keys[0] & keys[1] | keys[1] & keys[2] | keys[0] & keys[2]
    assert len(list(evaluation.root.glob("anchor_predictions/*/*/*/run.json"))) == 2


def test_one_process_at_a_time_evaluates_a_model_on_an_edition(evaluation: Evaluation) -> None:
    entered: list[str] = []
    first_may_end = threading.Event()

    def evaluate(name: str) -> None:
        with hold_evaluation(evaluation):
            entered.append(name)
            if name == "first":
                assert first_may_end.wait(20)
                entered.append("first ends")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(evaluate, "first")
        while not entered:
            assert not first.done()
        second = pool.submit(evaluate, "second")
        first_may_end.set()
        first.result()
        second.result()
    assert entered == ["first", "first ends", "second"]
