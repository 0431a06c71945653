"""The entailment engine, with a real model of transformers that has random weights."""

import json
from contextlib import closing
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from pretexeval.config.engines import WriterConfig
from pretexeval.engines.entailment_engine import EntailmentEngine
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling
from tests.support.tiny_entailment import LABELS, write_tiny_model

PAIRS = [
    ("x may treat y .", "y may be treated by x ."),
    ("x may treat y .", "x cannot treat y ."),
    ("x", "y"),
]
CLASSIFY = Sampling(max_tokens=0)


def configure(folder: Path) -> WriterConfig:
    return WriterConfig(name="tiny", engine="entailment", model=str(folder))


def to_prompts(pairs: list[tuple[str, str]]) -> list[Prompt]:
    return [Prompt("pair", json.dumps(pair)) for pair in pairs]


def test_probabilities_are_those_of_the_model(tmp_path: Path) -> None:
    """Batches with padding, sorted by length, give each pair what it gets alone."""
    folder = write_tiny_model(tmp_path / "tiny")
    with closing(load_engine(configure(folder))) as engine:
        completions = engine.generate(to_prompts(PAIRS), CLASSIFY)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    for pair, completion in zip(PAIRS, completions, strict=True):
        with torch.inference_mode():
            expected = model(**tokenizer(*pair, return_tensors="pt")).logits.softmax(-1)[0].tolist()
        said = json.loads(completion.response or "")
        assert [said[label] for label in LABELS] == pytest.approx(expected, abs=2e-6)
        assert completion.n_prompt_tokens == len(tokenizer(*pair)["input_ids"])


def test_a_pair_that_is_too_long_is_an_error_of_its_own(tmp_path: Path) -> None:
    prompts = to_prompts([PAIRS[0], ("x may treat y . " * 8, "x")])
    with closing(load_engine(configure(write_tiny_model(tmp_path / "tiny")))) as engine:
        fitting, too_long = engine.generate(prompts, CLASSIFY)
    assert fitting.status == "ok"
    assert (too_long.error or "").startswith("prompt too long: 44 tokens, the model takes 32")


def test_an_interrupt_costs_no_finished_batch(tmp_path: Path) -> None:
    received: dict[int, Completion] = {}

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with (
        closing(EntailmentEngine(configure(write_tiny_model(tmp_path / "tiny")))) as engine,
        pytest.raises(KeyboardInterrupt),
    ):
        engine.generate_into(received, to_prompts(PAIRS * 20), CLASSIFY, stop)
    assert len(received) == 32


@pytest.mark.parametrize(
    "labels", [("LABEL_0", "LABEL_1"), ("entails", "entailed by"), ("not_entailment", "no")]
)
def test_a_model_without_one_label_for_entailment_is_refused(tmp_path: Path, labels: tuple[str, str]) -> None:
    folder = write_tiny_model(tmp_path / "tiny", labels)
    with pytest.raises(
        InputError, match=f"its labels are {labels[0]}, {labels[1]}; a judge needs exactly one"
    ):
        load_engine(configure(folder))
