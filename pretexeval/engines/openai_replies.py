"""Read the JSON of an answer of an OpenAI endpoint: every field has its type and range, or is null."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pretexeval.primitives.untrusted_text import read_count, read_float
from schemas.exchange import ANSWER_WORDS, Completion, Prompt

# The finish_reason of a prompt that vLLM aborted at shutdown. The status is 200, and the text is incomplete.
ABORTED = ("abort", "error")
# The natural end of an answer, and the finish_reason of one that a filter took away, as the API names them.
NATURAL_END, FILTERED = "stop", "content_filter"
# The finish_reason of a message that holds a refusal in place of a text. The API names none.
REFUSED = "refusal"
# The fields of a chat message in which endpoints return what the model thought.
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
# The fields that hold the text of a part of a message.
PART_FIELDS = ("text", "value", *REASONING_FIELDS)
# A line of a stream of events (server-sent events), after an end of a line of any system.
STREAM = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])data:")
_START = re.compile(r"\S")
_LINE_END = re.compile(r"\r\n?")
# What surrounds the JSON: the name of the field, comments, other fields, and words that keep a line open.
_FRAME = re.compile(r"(?m)^(?:data:(?:[ \t]*[A-Za-z][^\"{}\[\]\n]*$)?|(?::|event:|id:|retry:).*$)")
END_OF_STREAM = "[DONE]"
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


def read_completion(content: bytes, prompt: Prompt, hide: Callable[[str], str]) -> Completion:
    """Return the completion that an answer holds. No text in it contains the key.

    Args:
        prompt: what was sent. A text that begins with it is an echo and what follows it the completion.
        hide: returns a text without the key, which an endpoint may repeat anywhere.

    Raises:
        UnreadableAnswerError: see there.
        AbortedAnswerError: see there.
    """
    try:
        answer = read_json(content)
    except UnreadableAnswerError:
        # An endpoint may stream although it was asked not to.
        if not STREAM.search(content):
            raise
        answer = _join_stream(content, hide)
    choice = _find_choice(answer)
    if choice is None:
        raise UnreadableAnswerError(f"the answer holds no choice: {hide(str(answer))[:100]!r}")
    is_chat = prompt.style == "chat"
    message = choice["message"]
    text, reasoning, refusal = _read_message(message) if is_chat else (choice["text"], None, None)
    finish_reason = _read_name(choice.get("finish_reason"), hide)
    has_reason = finish_reason is not None and (isinstance(message, dict) or finish_reason != NATURAL_END)
    if text is None and (reasoning or refusal or has_reason):
        # An empty answer: the model has used all its tokens for reasoning, it said nothing, or a filter took
        # it away. A retry would be paid for as well, and would give the same.
        text = ""
    if finish_reason in ABORTED:
        raise AbortedAnswerError(f"the answer was cut short (finish_reason {finish_reason})")
    if not isinstance(text, str):
        raise UnreadableAnswerError(f"the answer holds no text (finish_reason {finish_reason})")
    if refusal and not text.strip() and finish_reason != FILTERED:
        finish_reason = REFUSED
    is_echo = not is_chat and text.startswith(prompt.text)
    # The first token of a reply with reasoning, or of an echo, is not the first token of its answer.
    read_logprobs = _read_chat_logprobs if is_chat else _read_completion_logprobs
    logprobs = read_logprobs(None if reasoning or is_echo else choice.get("logprobs"))
    usage = _get(answer, "usage")
    return Completion(
        hide(text[len(prompt.text) :] if is_echo else text),
        finish_reason=finish_reason,
        n_prompt_tokens=read_count(_get(usage, "prompt_tokens")),
        n_completion_tokens=read_count(_get(usage, "completion_tokens")),
        logprob_true=logprobs[0],
        logprob_false=logprobs[1],
        reasoning=reasoning and hide(reasoning),
        served=_describe_served(answer, hide),
    )


def _join_stream(content: bytes, hide: Callable[[str], str]) -> dict[str, Any]:
    """Return the answer that a stream of events holds, in the form of an answer that comes as a whole.

    Raises:
        UnreadableAnswerError: the stream reports an error, or is cut off: neither its choice nor the stream
            itself says that it is complete.
    """
    chunks, is_complete = _list_chunks(content.decode("utf-8-sig", "replace"))
    answer: dict[str, Any] = {}
    choices: dict[int, list[dict[str, Any]]] = {}
    for chunk in chunks:
        if chunk.get("error") or chunk.get("object") == "error":
            raise UnreadableAnswerError(f"the stream reports an error: {hide(str(chunk))[:200]}")
        answer |= _drop_empty(chunk)
        parts = chunk.get("choices")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                choices.setdefault(read_count(part.get("index")) or 0, []).append(part)
    answer["choices"] = [_join_choice(parts) | {"index": index} for index, parts in choices.items()]
    choice = _find_choice(answer)
    if not is_complete and (choice is None or choice.get("finish_reason") is None):
        raise UnreadableAnswerError("the stream was cut off before its end")
    return answer


def _list_chunks(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the JSON objects of a stream before one that cannot be read, and whether its end was reached."""
    text = _FRAME.sub("", _LINE_END.sub("\n", text))
    decoder = json.JSONDecoder(strict=False, parse_int=_read_integer)
    chunks, place = list[dict[str, Any]](), 0
    while (start := _START.search(text, place)) and not text.startswith(END_OF_STREAM, start.start()):
        try:
            value, place = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return chunks, False
        chunks += [value] if isinstance(value, dict) else []
    return chunks, start is not None


def _join_choice(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the parts of a choice, one from each chunk; the log-probabilities are those of its first token."""
    joined: dict[str, Any] = {}
    for part in parts:
        joined |= _drop_empty(part)
    found = [each for part in parts if isinstance(each := part.get("logprobs"), dict) and any(each.values())]
    deltas = [part.get("delta") for part in parts]
    names = ("content", "refusal", *REASONING_FIELDS)
    delta = {name: _join_values([_get(each, name) for each in deltas]) for name in names}
    whole = [part["message"] for part in parts if isinstance(part.get("message"), dict)]
    said = [_get(message, "content") for message in whole] + ([delta["content"]] if delta["content"] else [])
    if any(text != said[0] for text in said):
        raise UnreadableAnswerError("the stream holds several messages")
    return joined | {
        "text": _join_values([part.get("text") for part in parts]),
        "message": whole[-1] if whole else delta,
        "logprobs": found[0] if found else None,
    }


def _join_values(values: list[object]) -> object:
    """Return texts as one text, and lists of parts as one list; None if there is neither."""
    found = [value for value in values if isinstance(value, str | list)]
    if all(isinstance(value, str) for value in found):
        return "".join(map(str, found)) if found else None
    return [part for value in found for part in (value if isinstance(value, list) else [value])]


def _drop_empty(chunk: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chunk.items() if value is not None and value != ""}


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


def _read_message(message: object) -> tuple[object, str | None, str | None]:
    """Return the text of a chat message, which may be null, and the reasoning and the refusal beside it."""
    content, refusal = (_get(message, name) for name in ("content", "refusal"))
    fields = [_get(message, name) for name in REASONING_FIELDS]
    if isinstance(content, list):
        fields.insert(0, _read_part([part for part in content if _is_thought(part)]))
        refusal = refusal or _read_part([_get(part, "refusal") for part in content])
        content = _read_part([part for part in content if not _is_thought(part)])
    reasoning = next((field for field in fields if isinstance(field, str) and field), None)
    return content, reasoning, refusal if isinstance(refusal, str) else None


def _is_thought(part: object) -> bool:
    """Return whether a part of a message is a thought, by its type or by the field that holds its text."""
    type_ = str(_get(part, "type"))
    return "think" in type_ or "reason" in type_ or any(_get(part, name) for name in REASONING_FIELDS)


def _read_part(part: object) -> str:
    """Return the text of a part, of all parts in a list, or of the part in a field of a part."""
    if isinstance(part, list):
        return "".join(map(_read_part, part))
    if isinstance(part, dict):
        return next(filter(None, (_read_part(part.get(name)) for name in PART_FIELDS)), "")
    return part if isinstance(part, str) else ""


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


def _read_completion_logprobs(logprobs: object) -> Logprobs:
    tops = _get(logprobs, "top_logprobs")
    first = tops[0] if isinstance(tops, list) and tops else None
    true, false = (_read_logprob(_get(first, f" {word}")) for word in ANSWER_WORDS)
    return true, false


def _read_chat_logprobs(logprobs: object) -> Logprobs:
    """Return the log-probability of either word, of the likelier spelling with or without a space.

    It depends on the end of the chat template whether a reply begins with a space.
    """
    tokens = _get(logprobs, "content")
    tops = _get(tokens[0], "top_logprobs") if isinstance(tokens, list) and tokens else None
    found: dict[str, list[float]] = {word: [] for word in ANSWER_WORDS}
    for top in tops if isinstance(tops, list) else ():
        word, number = _get(top, "token"), _read_logprob(_get(top, "logprob"))
        if isinstance(word, str) and word.strip() in found and number is not None:
            found[word.strip()].append(number)
    true, false = (max(numbers, default=None) for numbers in found.values())
    return true, false
