"""From a prompt to what a local model sees, with never two beginning-of-sequence tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.base import Prompt
from primitives.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# How every engine's error begins when a prompt does not fit: whoever built it can drop
# demonstrations and ask again.
PROMPT_TOO_LONG = "prompt too long"


def render_prompt(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> str:
    """The text the model goes on with: the prompt itself, or its messages in the chat template.

    Raises:
        InputError: the messages are not JSON; a template that refuses them raises what it likes.
    """
    if prompt.style == "completion":
        return prompt.text
    messages = read_messages(prompt)
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text


def read_messages(prompt: Prompt) -> list[dict[str, str]]:
    """The messages of a chat prompt.

    Raises:
        InputError: its text is not a JSON list.
    """
    try:
        messages = json.loads(prompt.text)
    except ValueError:
        messages = None
    if isinstance(messages, list):
        return messages
    raise InputError(f"a chat prompt is a JSON list of messages, not {prompt.text[:60]!r}")


def tokenise_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], style: str) -> list[list[int]]:
    """The token ids of rendered prompts; a chat template writes its own special tokens."""
    if not texts:
        return []
    encoded = tokenizer(list(texts), add_special_tokens=style == "completion")
    return [_drop_repeated_bos(ids, tokenizer.bos_token_id) for ids in encoded["input_ids"]]


def tokenise_prompt(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    """The token ids of one prompt, as the model gets them.

    Raises:
        InputError: as ``render_prompt``.
    """
    return tokenise_texts(tokenizer, [render_prompt(tokenizer, prompt)], prompt.style)[0]


def find_answer_token(tokenizer: PreTrainedTokenizerBase, text: str, word: str) -> int | None:
    """The token that says ``word`` right after ``text``; null if the word takes several.

    Read off in context, since SentencePiece writes a word differently at the start of a text.
    After white space (most chat templates end so) the word has no space of its own.
    """
    line = text.splitlines(keepends=True)[-1] if text else ""
    spelled = word if line[-1:].isspace() else f" {word}"
    before, after = (
        tokenizer(part, add_special_tokens=False)["input_ids"] for part in (line, line + spelled)
    )
    is_one_more = len(after) == len(before) + 1 and after[:-1] == before
    return int(after[-1]) if is_one_more else None


def _drop_repeated_bos(ids: list[int], bos_id: int | None) -> list[int]:
    while bos_id is not None and ids[:2] == [bos_id, bos_id]:
        ids = ids[1:]
    return ids
