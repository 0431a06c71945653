"""A pre-trained language model through the whole pipeline, in small (`make test-real-model`)."""

import re

import pytest

from benchmarks.real_model import NAME, RealModel
from tests.support.command import REPOSITORY, read_stamps

pytestmark = [pytest.mark.long, pytest.mark.real_model]

MODEL = REPOSITORY / "data" / "real-model" / "smollm2-135m-instruct"
RELATION = ["may_treat"]


@pytest.fixture(scope="module")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> RealModel:
    """Return the model with an empty folder for its results."""
    if not MODEL.is_dir():
        pytest.skip(f"there is no {MODEL}: `make test-real-model` makes it")
    return RealModel(MODEL, tmp_path_factory.mktemp("real-model"))


def test_the_model_answers_statements(real_model: RealModel) -> None:
    knowledge = {"format": "starter", "name": "starter", "relations": RELATION}
    name, model, n_pairs, n_samples, *_, no_answer, _, _ = real_model.evaluate("small", knowledge)
    assert (name, model, n_pairs, n_samples) == ("small", NAME, "1", "16")
    # A model that follows five examples says True or False.
    assert no_answer == "0.0%"


def test_the_gate_accepts_some_of_its_rewordings(real_model: RealModel) -> None:
    """Other limits of the gate need no other rewordings, and none accepts more than no limit."""
    shares = [real_model.reword(None)]
    before = read_stamps(real_model.root, "responses/**/*.parquet")
    shares.append(real_model.reword(0))
    assert read_stamps(real_model.root, "responses/**/*.parquet") == before
    counts = [re.findall(r"(\d+) of (\d+) rewordings", share)[0] for share in shares]
    (free, n_free), (strict, n_strict) = [(int(n), int(total)) for n, total in counts]
    assert n_free == n_strict > 100
    assert 0 < strict <= free < n_free


def test_the_served_model_says_what_the_model_in_process_says(real_model: RealModel) -> None:
    """Rounding may turn an answer that is a toss-up."""
    (_, _, _, n_samples, *_), agreement = real_model.serve(RELATION)
    n_equal, n_compared = map(int, re.findall(r"\d+", agreement)[:2])
    assert n_samples == str(n_compared) == "16"
    assert n_equal >= 12
