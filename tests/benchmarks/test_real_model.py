"""A pre-trained language model through the whole pipeline, in small (`make test-real-model`)."""

from pathlib import Path

import pytest

from benchmarks.real_model import ask_model, reword
from schemas.stages import MAX_WRONG_RATE
from tests.support.command import REPOSITORY

pytestmark = [pytest.mark.long, pytest.mark.real_model]

MODEL = REPOSITORY / "data" / "real-model" / "smollm2-135m-instruct"


@pytest.fixture(autouse=True)
def _require_model() -> None:
    if not MODEL.is_dir():
        pytest.skip(f"there is no {MODEL}: `make test-real-model` makes it")


def test_the_model_says_the_same_in_process_and_behind_a_server(tmp_path: Path) -> None:
    """A model that follows five examples says True or False; rounding may turn a toss-up."""
    scores, n_compared, n_equal = ask_model(MODEL, tmp_path, ["may_treat"])
    assert [(n_pairs, n_samples) for _, n_pairs, n_samples, *_ in scores] == [(1, 16)] * 2
    assert [no_answer for *_, no_answer, _ in scores] == [0, 0]
    assert n_compared == 16
    assert n_equal >= 12


def test_the_gate_limits_this_weak_writer_and_accepts_some_of_its_rewordings(tmp_path: Path) -> None:
    n_attempts, n_accepted, wrong_rate, limit = reword(MODEL, tmp_path)
    assert n_attempts > 100
    assert 0 < n_accepted < n_attempts
    assert wrong_rate > MAX_WRONG_RATE
    assert limit == 0
