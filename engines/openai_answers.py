"""Ask an OpenAI endpoint one prompt, with retries; the answer is a completion or an error with its cause.

The texts of errors of single prompts are stored with the responses, so their wording stays as it is.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from config.engines import EngineConfig
from engines.endpoint_client import (
    BrokenReplyError,
    EndpointClient,
    NoConnectionError,
    NoReplyInTimeError,
    RawResponse,
)
from engines.openai_parameters import advise_on_refusal, build_parameters
from engines.openai_replies import (
    AbortedAnswerError,
    UnreadableAnswerError,
    read_classification,
    read_completion,
    read_json,
)
from engines.prompts import read_messages
from engines.retry_pauses import find_pause, find_pause_of_limit, read_requested_pause
from primitives.secrets import MIN_LENGTH, hide_value
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling

Fault = Literal["none", "prompt", "refused", "endpoint", "slow", "unreachable"]
# The server behind the gateway is down or overloaded, for an unknown time. The prompt is not the cause.
UNAVAILABLE = (429, 502, 503, 504)
LIMITED = 429
# No prompt can pass, unless the endpoint answers others. With 400 and 403, gateways also refuse single
# prompts for their content.
REFUSALS = {
    401: "refuses the key; check the variable named in api_key_env, or its block",
    404: "does not know the model or the path; check model and base_url",
}
REDIRECTED = "sends requests to another address, where neither key nor prompts are sent; check base_url"
# Bytes of an answer beside its tokens, of a token, and of a token with its 20 log-probabilities.
ANSWER_BYTES = 1_000_000
TOKEN_BYTES = 256
LOGPROBS_BYTES = 4096
MAX_MESSAGE = 300


@dataclass(frozen=True)
class Answer:
    """A completion and, if it is an error, the cause of the error."""

    completion: Completion
    fault: Fault = "none"
    remedy: str = ""
    """What is wrong with the endpoint, if every prompt meets this error."""


@dataclass(frozen=True)
class Attempt:
    """The answer to one request, and whether and when to send the request again."""

    answer: Answer
    is_retryable: bool = False
    is_limited: bool = False
    requested_s: float | None = None


@dataclass
class Endpoint:
    """An endpoint, and what it has done in this run."""

    config: EngineConfig
    client: EndpointClient
    key: str | None
    has_answered: bool = False
    is_stopping: bool = False
    """Whether to send nothing more."""

    def hide(self, text: str) -> str:
        """Return the text without the key. An endpoint may repeat the key in any of its texts."""
        return hide_value(text, self.key) if self.key and len(self.key) >= MIN_LENGTH else text

    def fail(self, reason: str, fault: Fault, remedy: str = "") -> Answer:
        """Return the answer of a prompt that failed."""
        text = hide_value(" ".join(reason.split()), self.key)[:MAX_MESSAGE]
        return Answer(Completion(None, status="error", error=text), fault, remedy)


async def ask_endpoint(endpoint: Endpoint, prompt: Prompt, sampling: Sampling, max_attempts: int) -> Answer:
    """Return the answer to one prompt, after the retries. The key is hidden everywhere in it.

    A prompt whose answer has begun to arrive is not sent again, because it is paid for. If the endpoint
    limits the rate (429), the prompt waits as long as the endpoint asks, which is no attempt.

    Raises:
        InputError: the prompt is not a list of messages.
    """
    started, n_attempts, n_limited = time.monotonic(), 0, 0
    while True:
        attempt = await _attempt(endpoint, prompt, sampling)
        if attempt.is_limited:
            n_limited += 1
            waited_s = time.monotonic() - started
            pause_s = find_pause_of_limit(
                attempt.requested_s, n_limited, waited_s, max_attempts, has_answered=endpoint.has_answered
            )
        else:
            n_attempts += 1
            can_retry = attempt.is_retryable and n_attempts < max_attempts
            pause_s = find_pause(attempt.requested_s, n_attempts) if can_retry else None
        if pause_s is None or endpoint.is_stopping:
            return attempt.answer
        await asyncio.sleep(pause_s)


async def _attempt(endpoint: Endpoint, prompt: Prompt, sampling: Sampling) -> Attempt:
    config = endpoint.config
    path, body = _build_request(config.model, prompt, sampling)
    try:
        reply = await endpoint.client.post(path, body, _limit_size(sampling))
        if not reply.is_success:
            return _read_failure(endpoint, reply, sampling, prompt.style)
        if prompt.style == "classify":
            return Attempt(Answer(read_classification(reply.content, endpoint.hide)))
        words = sampling.answer_words
        return Attempt(Answer(read_completion(reply.content, prompt.style, endpoint.hide, words)))
    except NoReplyInTimeError as error:
        return Attempt(endpoint.fail(str(error), "slow"), is_retryable=True)
    except NoConnectionError as error:
        return Attempt(endpoint.fail(str(error), "unreachable"), is_retryable=True)
    except AbortedAnswerError as error:
        return Attempt(endpoint.fail(str(error), "unreachable"))
    except (BrokenReplyError, UnreadableAnswerError) as error:
        return Attempt(endpoint.fail(str(error), "endpoint"))
    except Exception as error:  # Whatever an endpoint sends, it costs no other prompt its answer.
        reason = f"the answer cannot be read: {type(error).__name__}: {error}"
        return Attempt(endpoint.fail(reason, "endpoint"))


def _build_request(model: str, prompt: Prompt, sampling: Sampling) -> tuple[str, dict[str, object]]:
    if prompt.style == "classify":
        return "/classify", {"input": prompt.text, "model": model}
    body = build_parameters(sampling, prompt.style)
    if prompt.style == "chat":
        return "/chat/completions", {"messages": read_messages(prompt), "model": model, **body}
    return "/completions", {"prompt": prompt.text, "model": model, **body}


def _limit_size(sampling: Sampling) -> int:
    return ANSWER_BYTES + sampling.max_tokens * (LOGPROBS_BYTES if sampling.logprobs else TOKEN_BYTES)


def _read_failure(endpoint: Endpoint, reply: RawResponse, sampling: Sampling, style: str) -> Attempt:
    status = reply.status
    message, code = _read_message(reply)
    message = endpoint.hide(message)
    reason = f"HTTP {status}: {message}"
    requested_s = read_requested_pause(reply.headers)
    if status in UNAVAILABLE:
        answer = endpoint.fail(reason, "unreachable")
        return Attempt(answer, is_retryable=True, is_limited=status == LIMITED, requested_s=requested_s)
    if status in (408, 409) or status >= 500:
        return Attempt(endpoint.fail(reason, "endpoint"), is_retryable=True, requested_s=requested_s)
    if status < 400:
        return Attempt(endpoint.fail(reason, "refused", REDIRECTED))
    if status in REFUSALS:
        return Attempt(endpoint.fail(reason, "refused", REFUSALS[status]))
    if code == "context_length_exceeded" or "maximum context length" in message:
        return Attempt(endpoint.fail(f"{PROMPT_TOO_LONG}: {message}", "prompt"))
    # A message about credit (402) or moderation (403) can name a parameter that is not its cause.
    advice = advise_on_refusal(message, sampling, style) if status in (400, 422) else ""
    failed = endpoint.fail(reason, "prompt").completion
    return Attempt(Answer(Completion(None, status="error", error=f"{failed.error}{advice}"), "prompt"))


def _read_message(reply: RawResponse) -> tuple[str, object]:
    """Return the endpoint's words and its code of the error; of a redirect, the host that it names."""
    words = f"Error code: {reply.status}"
    if reply.status < 400:
        return f"{words} - {_find_host(reply.headers.get('Location', ''))}", None
    try:
        answer = read_json(reply.content)
    except UnreadableAnswerError:
        return words, None
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return words, None
    message = error.get("message")
    return (f"{words} - {message}" if isinstance(message, str) and message else words), error.get("code")


def _find_host(location: str) -> str:
    try:
        parts = urlsplit(location)
        return f"redirected to {parts.scheme}://{parts.hostname}" if parts.hostname else "redirected"
    except ValueError:
        return "redirected"
