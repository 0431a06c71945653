from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.base import Engine
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling


def load_rows(path: Path, **columns: list[object]) -> Engine:
    pl.DataFrame(columns, strict=False).write_parquet(path)
    return load_engine(ModelConfig(name="m", engine="recorded", model=str(path)))


def ask(engine: Engine, *texts: str, style: str = "completion") -> list[Completion]:
    return engine.generate([Prompt(style, text) for text in texts], Sampling())


def test_answers_come_in_the_order_asked_and_unknown_prompts_are_errors(tmp_path: Path) -> None:
    engine = load_rows(tmp_path / "r.parquet", prompt=["a", "b"], response=["", "True"])
    assert ask(engine, "b", "a", "z") == [
        Completion("True"),
        Completion(""),
        Completion(None, status="error", error="not recorded"),
    ]


def test_optional_columns_are_kept(tmp_path: Path) -> None:
    engine = load_rows(
        tmp_path / "r.parquet",
        prompt=["a", "b", "c"],
        response=["True", "cut off", None],
        status=["ok", "error", "ok"],
        error=[None, "HTTP 500", None],
        finish_reason=["stop", None, None],
        n_prompt_tokens=[7, None, None],
        n_completion_tokens=[2, None, None],
        logprob_true=[-0.5, None, None],
        logprob_false=[-1.5, None, None],
        reasoning=["Fever?", None, None],
        served=["x, fp_1", None, None],
    )
    assert ask(engine, "a", "b", "c") == [
        Completion("True", "ok", None, "stop", 7, 2, -0.5, -1.5, "Fever?", "x, fp_1"),
        Completion(None, "error", "HTTP 500"),
        Completion(None, "error", "recorded without a response"),
    ]


@pytest.mark.parametrize("repeats", [[1, 0, 2], [2, 1, 0], [5, 3, 7]])
def test_repeats_are_returned_in_their_order(tmp_path: Path, repeats: list[int]) -> None:
    responses: list[object] = [f"repeat {n}" for n in repeats]
    engine = load_rows(tmp_path / "r.parquet", prompt=["a"] * 3, response=responses, repeat=list(repeats))
    prompt = [Prompt("completion", "a")]
    said = [engine.generate(prompt, Sampling(repeat=n))[0] for n in range(4)]
    assert [c.response for c in said] == [*(f"repeat {n}" for n in sorted(repeats)), None]
    assert said[3].error == "not recorded"


def test_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'response'"):
        load_rows(tmp_path / "r.parquet", prompt=["a"], answer=["True"])
