from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pretexeval.engines.base import find_answer_token, render_prompt, tokenise_texts
from schemas.exchange import Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BOS = 0
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')


@pytest.fixture(scope="module")
def tokenizer(tiny_llama: Path) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_llama)


def tokenise_prompt(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    return tokenise_texts(tokenizer, [render_prompt(tokenizer, prompt)], prompt.style)[0]


@pytest.mark.parametrize(
    "prompt",
    [
        Prompt("completion", "Fever may cause cough."),
        Prompt("completion", "<s>Fever may cause cough."),
        Prompt("completion", "<s><s>Fever may cause cough."),
        CHAT,
    ],
)
def test_tokens_have_one_beginning_of_sequence(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> None:
    ids = tokenise_prompt(tokenizer, prompt)
    assert ids[0] == BOS
    assert ids.count(BOS) == 1
    assert len(ids) > 1


def test_chat_prompt_is_what_the_template_writes(tokenizer: PreTrainedTokenizerBase) -> None:
    ids = tokenise_prompt(tokenizer, CHAT)
    assert tokenizer.decode(ids) == "<s><|user|>Fever?\n<|assistant|>"


@pytest.mark.parametrize(
    ("text", "spelled"),
    [("Statement\nAnswer:", " True"), ("<|assistant|>", " True"), ("assistant\n", "True")],
)
def test_answer_token_has_the_spelling_that_follows_the_text(
    tokenizer: PreTrainedTokenizerBase, text: str, spelled: str
) -> None:
    expected = tokenizer.encode(spelled, add_special_tokens=False)
    assert [find_answer_token(tokenizer, text, "True")] == expected


def test_answer_of_several_tokens_has_none(tokenizer: PreTrainedTokenizerBase) -> None:
    assert find_answer_token(tokenizer, "Answer:", "Entailed") is None


def test_a_template_without_the_beginning_of_sequence_gets_none(tokenizer: PreTrainedTokenizerBase) -> None:
    assert tokenise_texts(tokenizer, ["Fever?"], "chat")[0][0] != BOS
