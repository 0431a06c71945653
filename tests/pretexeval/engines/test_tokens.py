"""The tokens of prompts; those whose demonstrations are tokenised once have the tokens of the whole text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from pretexeval.engines import tokens
from pretexeval.engines.base import render_prompt
from pretexeval.engines.tokens import MIN_GROUP, find_answer_token, tokenise_sorted, tokenise_texts
from schemas.exchange import Prompt
from tests.support.command import REPOSITORY

ASKED = '", is the statement above true or false? Please answer True or False.\nAnswer:'
SHOTS = [
    f'Statement: "{name} may cause cough{ASKED} {said}' for name, said in (("Flu", "True"), ("HIV", "False"))
]
REASONED = "Question: Is 5-FU (1957)  a drug?\nLet's think step by step. It is. Therefore, the answer is: B."
HEADS = ["\n\n".join(SHOTS), "\n\n".join([*SHOTS, REASONED]), f"<s>[INST] {SHOTS[0]}\n\n{SHOTS[1]} "]
# The splits of GPT-2 and of Llama 3.
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
SPECIAL = ["<unk>", "<s>", "</s>"]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def train(tokenizer: Tokenizer, trainer: trainers.Trainer, end: str = "") -> PreTrainedTokenizerBase:
    texts = [f"{head}\n\n{SHOTS[0]}\n\n\nA 45-year-old man.\n" for head in HEADS] * 3
    tokenizer.train_from_iterator(texts, trainer)
    special = [("<s>", 1), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(f"<s> $A{end}", special_tokens=special)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>")


def build_bytes(pre_tokenizer: pre_tokenizers.PreTokenizer, end: str = "") -> PreTrainedTokenizerBase:
    """Return a tokenizer of bytes.

    Args:
        end: a token after each text. The tokens of its parts are then not those of the whole.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=SPECIAL, initial_alphabet=ALPHABET)
    return train(tokenizer, trainer, end)


def build_llama_2() -> PreTrainedTokenizerBase:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    trained = train(tokenizer, trainers.BpeTrainer(vocab_size=500, special_tokens=SPECIAL))
    # The files of Llama 2 have these normalizers instead, and no split into words.
    backend = trained.backend_tokenizer
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.pre_tokenizer = None
    backend.decoder = decoders.Metaspace()
    return trained


def build_unigram() -> PreTrainedTokenizerBase:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=SPECIAL, unk_token="<unk>")
    return train(tokenizer, trainer)


def build_without_words() -> PreTrainedTokenizerBase:
    """Return a tokenizer whose tokens go across words."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    return train(tokenizer, trainers.BpeTrainer(vocab_size=700, special_tokens=SPECIAL))


def build_tokenizers() -> Iterator[tuple[str, PreTrainedTokenizerBase]]:
    yield "reference-large", AutoTokenizer.from_pretrained(REPOSITORY / "models" / "reference-large")
    yield "gpt-2", build_bytes(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "prefix", build_bytes(pre_tokenizers.ByteLevel(add_prefix_space=True))
    split = pre_tokenizers.Split(Regex(LLAMA_3), "isolated")
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    yield "llama-3", build_bytes(pre_tokenizers.Sequence([split, bytes_only]))
    yield "llama-2", build_llama_2()
    yield "unigram", build_unigram()
    yield "no words", build_without_words()
    yield "end token", build_bytes(pre_tokenizers.ByteLevel(add_prefix_space=False), " </s>")


TOKENIZERS = dict(build_tokenizers())
PIECES = st.sampled_from(["\n", " ", "\u0301", "A", "é", "5", "?", '"', "Statement", "true", "\t"])
TAILS = st.lists(PIECES, max_size=12).map("".join)


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("style", ["completion", "chat"])
@settings(max_examples=10, deadline=None)
@given(head=st.sampled_from(HEADS), tails=st.lists(TAILS, min_size=MIN_GROUP, max_size=12))
def test_ids_are_those_of_the_whole_texts(name: str, style: str, head: str, tails: list[str]) -> None:
    end = "\n\nassistant\n\n" if style == "chat" else ""
    texts = sorted(f"{head}\n\n{tail}{end}" for tail in tails)
    expected = tokenise_texts(TOKENIZERS[name], texts, style)
    assert tokenise_sorted(TOKENIZERS[name], texts, style) == expected


@pytest.mark.parametrize("name", ["reference-large", "gpt-2", "prefix", "llama-3", "llama-2"])
def test_demonstrations_are_tokenised_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n_characters = 0

    def encode(_: object, texts: list[str], *, add_special_tokens: bool) -> list[list[int]]:
        nonlocal n_characters
        n_characters += sum(map(len, texts))
        ids: list[list[int]] = TOKENIZERS[name](texts, add_special_tokens=add_special_tokens)["input_ids"]
        return ids

    texts = sorted(f"{head}\n\nStatement {n}: {n * n}\nAnswer:" for head in HEADS[:2] for n in range(100))
    expected = tokenise_texts(TOKENIZERS[name], texts, "completion")
    monkeypatch.setattr(
        tokens, "_encode", lambda *given, **named: encode(*given, **named) if given[1] else []
    )
    assert tokenise_sorted(TOKENIZERS[name], texts, "completion") == expected
    assert n_characters < sum(map(len, texts)) / 4


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
