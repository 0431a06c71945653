"""The tokens of prompts, and keys in logs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from transformers import AutoTokenizer

from pretexeval.engines.base import render_prompt
from pretexeval.engines.tokens import find_answer_token, tokenise_texts
from schemas.exchange import Prompt
from tests.support.command import REPOSITORY

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
