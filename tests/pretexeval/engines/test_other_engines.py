"""The engine for recorded answers, the tokens of prompts, and keys in logs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from transformers import AutoTokenizer

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.base import Engine, find_answer_token, render_prompt, tokenise_texts
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling
from tests.support.command import REPOSITORY

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def load_rows(path: Path, **columns: list[object]) -> Engine:
    pl.DataFrame(columns, strict=False).write_parquet(path)
    return load_engine(ModelConfig(name="m", engine="recorded", model=str(path)))


def test_recorded_answers_come_in_the_order_asked_with_what_was_recorded(tmp_path: Path) -> None:
    engine = load_rows(
        tmp_path / "r.parquet",
        prompt=["a", "b", "c", "d"],
        response=["True", "cut off", None, ""],
        status=["ok", "error", "ok", "ok"],
        error=[None, "HTTP 500", None, None],
        finish_reason=["stop", None, None, None],
        n_prompt_tokens=[7, None, None, None],
        n_completion_tokens=[2, None, None, None],
        logprob_true=[-0.5, None, None, None],
        logprob_false=[-1.5, None, None, None],
        reasoning=["Fever?", None, None, None],
        served=["x, fp_1", None, None, None],
    )
    prompts = [Prompt("completion", text) for text in "dcbaz"]
    assert engine.generate(prompts, Sampling()) == [
        Completion(""),
        Completion(None, "error", "recorded without a response"),
        Completion(None, "error", "HTTP 500"),
        Completion("True", "ok", None, "stop", 7, 2, -0.5, -1.5, "Fever?", "x, fp_1"),
        Completion(None, "error", "not recorded"),
    ]
    with pytest.raises(InputError, match="no column 'response'"):
        load_rows(tmp_path / "r.parquet", prompt=["a"], answer=["True"])


@pytest.mark.parametrize("repeats", [[1, 0, 2], [2, 1, 0], [5, 3, 7]])
def test_recorded_repeats_are_returned_in_their_order(tmp_path: Path, repeats: list[int]) -> None:
    responses: list[object] = [f"repeat {n}" for n in repeats]
    engine = load_rows(tmp_path / "r.parquet", prompt=["a"] * 3, response=responses, repeat=list(repeats))
    said = [engine.generate([Prompt("completion", "a")], Sampling(repeat=n))[0] for n in range(4)]
    assert [c.response for c in said] == [*(f"repeat {n}" for n in sorted(repeats)), None]
    assert said[3].error == "not recorded"


BOS = 0
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')


@pytest.fixture(scope="module")
def tokenizer(tiny_llama: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_llama)


def test_tokens_have_one_beginning_of_sequence(tokenizer: PreTrainedTokenizerBase) -> None:
    for start in ("", "<s>", "<s><s>"):
        text = render_prompt(tokenizer, Prompt("completion", f"{start}Fever may cause cough."))
        (ids,) = tokenise_texts(tokenizer, [text], "completion")
        assert (ids[0], ids.count(BOS)) == (BOS, 1)
        assert len(ids) > 1
    (chat,) = tokenise_texts(tokenizer, [render_prompt(tokenizer, CHAT)], "chat")
    assert tokenizer.decode(chat) == "<s><|user|>Fever?\n<|assistant|>"
    # A template that does not write it gets none.
    assert tokenise_texts(tokenizer, ["Fever?"], "chat")[0][0] != BOS


def test_answer_token_has_the_spelling_that_follows_the_text(tokenizer: PreTrainedTokenizerBase) -> None:
    spelled = {"Statement\nAnswer:": " True", "<|assistant|>": " True", "assistant\n": "True"}
    found = {text: [find_answer_token(tokenizer, text, "True")] for text in spelled}
    assert found == {text: tokenizer.encode(word, add_special_tokens=False) for text, word in spelled.items()}
    assert find_answer_token(tokenizer, "Answer:", "Entailed") is None, "it is several tokens"


KEY = "sk-secret-0123456789"
LOGGING = f"""
import logging
from pretexeval.primitives.secrets import keep_out_of_logs
logging.basicConfig(level=logging.DEBUG)
keep_out_of_logs("short")
log = logging.getLogger("vendor.client")
log.debug("shown {KEY}")
keep_out_of_logs("{KEY}")
log.debug("headers %s", {{"Authorization": "Bearer {KEY}"}})
log.info("a short word")
try:
    raise ValueError("refused {KEY}")
except ValueError:
    log.exception("it failed")
"""


def test_a_key_is_in_no_message_and_no_traceback_once_it_is_known() -> None:
    """In a process of its own, because settings of logging are those of the process."""
    done = subprocess.run(
        [sys.executable, "-c", LOGGING], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stderr.count(KEY) == done.stderr.count(f"shown {KEY}") == 1
    assert "DEBUG:vendor.client:headers {'Authorization': 'Bearer ***'}" in done.stderr
    assert "Traceback" in done.stderr
    assert "ValueError: refused ***" in done.stderr
    assert "a short word" in done.stderr
