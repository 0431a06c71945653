"""Read the JSON of an answer of an OpenAI endpoint: every field has its type and range, or is null."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pretexeval.primitives.untrusted_text import read_count, read_float
from schemas.exchange import Completion

# The finish_reason of a prompt that vLLM aborted at shutdown. The status is 200, and the text is incomplete.
ABORTED = ("abort", "error")
# The fields of a chat message in which endpoints return what the model thought.
REASONING_FIELDS = ("reasoning_content", "reasoning")
# Real names of models and reasons are shorter. Every different one is listed in the record of a run.
MAX_NAME = 200
# No count and no position is longer.
MAX_DIGITS = 100

Logprobs = tuple[float | None, float | None]


class UnreadableAnswerError(Exception):
    """An answer has the wrong form, or no text."""


class AbortedAnswerError(Exception):
    """The server ended while it was writing the answer."""


def read_json(content: bytes) -> object:
    """Return the value of a JSON text.

    What makes a single value illegal costs no answer: bytes that are no text are replaced, control characters
    are read as they are, and a number of any length is a float.

    Raises:
        UnreadableAnswerError: it is not JSON, or is nested too deeply.
    """
    text = content.decode(json.detect_encoding(content), "replace")
    try:
        return json.loads(text, strict=False, parse_int=_read_integer)
    except RecursionError:
        raise UnreadableAnswerError("the answer is nested too deeply") from None
    except ValueError as error:
        raise UnreadableAnswerError(f"the answer cannot be read: {error}") from None


def read_completion(
    content: bytes, style: str, hide: Callable[[str], str], words: tuple[str, str] = ("True", "False")
) -> Completion:
    """Return the completion that an answer holds. No text in it contains the key.

    Args:
        words: the words whose log-probabilities as the first token are read.
        hide: returns a text without the key, which an endpoint may repeat anywhere.

    Raises:
        UnreadableAnswerError: see there.
        AbortedAnswerError: see there.
    """
    answer = read_json(content)
    choice = _find_choice(answer)
    if choice is None:
        raise UnreadableAnswerError(f"the answer holds no choice: {hide(str(answer))[:100]!r}")
    text, reasoning = _read_message(choice["message"]) if style == "chat" else (choice["text"], None)
    finish_reason = _read_name(choice.get("finish_reason"), hide)
    has_message = style == "chat" and isinstance(choice["message"], dict)
    if text is None and has_message and (reasoning is not None or finish_reason is not None):
        # An empty answer: the model has used all its tokens for reasoning, or it said nothing. A retry would
        # be paid for as well, and would give the same.
        text = ""
    if finish_reason in ABORTED:
        raise AbortedAnswerError(f"the answer was cut short (finish_reason {finish_reason})")
    if not isinstance(text, str):
        raise UnreadableAnswerError(f"the answer holds no text (finish_reason {finish_reason})")
    # The first token of a reply with reasoning is not the first token of its answer.
    read_logprobs = _read_chat_logprobs if style == "chat" else _read_completion_logprobs
    logprobs = read_logprobs(choice.get("logprobs"), words) if reasoning is None else (None, None)
    usage = _get(answer, "usage")
    return Completion(
        hide(text),
        finish_reason=finish_reason,
        n_prompt_tokens=read_count(_get(usage, "prompt_tokens")),
        n_completion_tokens=read_count(_get(usage, "completion_tokens")),
        logprob_true=logprobs[0],
        logprob_false=logprobs[1],
        reasoning=reasoning and hide(reasoning),
        served=_describe_served(answer, hide),
    )


def _read_integer(digits: str) -> int | float:
    """Return the number; Python reads no integer of more than some thousand digits."""
    return int(digits) if len(digits) < MAX_DIGITS else float(digits)


def _get(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _find_choice(answer: object) -> dict[str, Any] | None:
    """Return the choice with the lowest index, with its text or its message; None if there is none."""
    choices = _get(answer, "choices")
    found = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if not found:
        return None
    first = min(found, key=lambda choice: read_count(choice.get("index")) or 0)
    return {"text": None, "message": None} | first


def _read_message(message: object) -> tuple[object, str | None]:
    """Return the text of a chat message, which may be null, and the reasoning that came apart from it."""
    content = _get(message, "content")
    fields = (_get(message, name) for name in REASONING_FIELDS)
    reasoning = next((field for field in fields if isinstance(field, str) and field), None)
    if isinstance(content, list):
        text, thought = (_join_parts(content, kind) for kind in ("text", "thinking"))
        return text, thought or reasoning
    return content, reasoning


def _join_parts(parts: list[object], kind: str) -> str:
    """Return the text of all parts of a kind. A thought is a list of parts with texts."""
    found = (_get(part, kind) for part in parts)
    texts = (_join_parts(each, "text") if isinstance(each, list) else each for each in found)
    return "".join(text for text in texts if isinstance(text, str))


def _read_name(value: object, hide: Callable[[str], str]) -> str | None:
    return hide(value)[:MAX_NAME] if isinstance(value, str) else None


def _describe_served(answer: object, hide: Callable[[str], str]) -> str | None:
    """Return the name and the fingerprint of the model that answered, as the endpoint reports them."""
    said = (_read_name(_get(answer, name), hide) for name in ("model", "system_fingerprint"))
    return ", ".join(text for text in said if text) or None


def _read_logprob(value: object) -> float | None:
    """Return a log-probability; None if it is none. It may be slightly above 0 (schemas/expectations.py)."""
    number = read_float(value)
    return number if number is not None and number <= 1e-3 else None


def _read_completion_logprobs(logprobs: object, words: tuple[str, str]) -> Logprobs:
    tops = _get(logprobs, "top_logprobs")
    first = tops[0] if isinstance(tops, list) and tops else None
    return _read_logprob(_get(first, f" {words[0]}")), _read_logprob(_get(first, f" {words[1]}"))


def _read_chat_logprobs(logprobs: object, words: tuple[str, str]) -> Logprobs:
    """Return the log-probability of either word, of the likelier spelling with or without a space.

    It depends on the end of the chat template whether a reply begins with a space.
    """
    tokens = _get(logprobs, "content")
    tops = _get(tokens[0], "top_logprobs") if isinstance(tokens, list) and tokens else None
    found: dict[str, list[float]] = {word: [] for word in words}
    for top in tops if isinstance(tops, list) else ():
        word, number = _get(top, "token"), _read_logprob(_get(top, "logprob"))
        if isinstance(word, str) and word.strip() in found and number is not None:
            found[word.strip()].append(number)
    return max(found[words[0]], default=None), max(found[words[1]], default=None)
