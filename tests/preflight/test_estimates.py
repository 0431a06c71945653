import json
from pathlib import Path

import pytest

from config.engines import ModelConfig
from engines.token_counter import TokenCounter
from preflight.estimates import Span, average_tokens, measure_completions, measure_throughput
from schemas.exchange import Completion, Prompt
from storage.responses import ResponseStore


def test_prices_come_together() -> None:
    with pytest.raises(ValueError, match="price_output is needed with the other price"):
        ModelConfig.model_validate({"name": "m", "model": "org/x", "price_input": 1.0})
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        ModelConfig.model_validate({"name": "m", "model": "org/x", "price_input": -1.0, "price_output": 0.0})


def test_throughput_is_of_all_runs_that_asked_something(tmp_path: Path) -> None:
    records = {"a": (100, 5.0), "b": (300, 15.0), "reused": (0, 9.0)}
    for edition, (n_asked, seconds) in records.items():
        folder = tmp_path / "predictions" / edition / "m-1"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"n_asked": n_asked, "duration_s": seconds}))
    broken = tmp_path / "predictions" / "broken" / "m-1"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    assert measure_throughput(tmp_path, "m-1")[0] == 20.0
    assert measure_throughput(tmp_path, "m-2")[0] is None


def test_completions_are_measured_on_the_prompts_meant(tmp_path: Path) -> None:
    store = ResponseStore(tmp_path, "m-1")
    assert measure_completions(store, 50)[0] == Span(1, 50)
    prompts = [Prompt("completion", text) for text in ("Write (a).", "Judge [b].", "Judge [c].")]
    completions = [Completion("x", n_completion_tokens=n) for n in (40, 2, None)]
    store.append(["1", "2", "3"], prompts, completions)
    store.append(["4"], prompts[:1], [Completion(None, status="error", error="gone")])
    assert measure_completions(store, 50)[0] == Span.of(21)
    assert measure_completions(store, 50, "Write (")[0] == Span.of(40)
    assert measure_completions(store, 30, "Write (")[0] == Span.of(30)
    assert measure_completions(store, 30, "Draw (")[0] == Span(1, 30)


def test_relations_count_by_their_number_of_prompts() -> None:
    counter = TokenCounter(ModelConfig.model_validate({"name": "m", "model": "org/none"}))
    shown = [(3, ["x" * 40, "x" * 80]), (1, ["x" * 100]), (9, [])]
    assert average_tokens(counter, shown) == (3 * 15 + 25) / 4
    assert average_tokens(counter, []) == 0
