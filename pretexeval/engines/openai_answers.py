"""Ask an OpenAI endpoint one prompt, with retries; the answer is a completion or an error with its cause.

The texts of errors of single prompts are stored with the responses, so their wording stays as it is.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from pretexeval.config.engines import STREAM, EngineConfig
from pretexeval.engines.base import read_messages
from pretexeval.engines.endpoint_client import (
    BrokenReplyError,
    EndpointClient,
    NoConnectionError,
    NoReplyInTimeError,
    RawResponse,
)
from pretexeval.engines.openai_replies import (
    AbortedAnswerError,
    UnreadableAnswerError,
    read_completion,
    read_json,
)
from pretexeval.primitives.secrets import MIN_LENGTH, hide_value
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling

FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 8.0
# An endpoint that fails and asks for a longer pause counts as unavailable.
MAX_REQUESTED_S = 60.0
# An endpoint that limits the rate (429) is given as much time as one that is down. Before its first answer it
# is given less, because its limit may be a quota that is used up.
MAX_LIMITED_S = 600.0
MAX_LIMITED_AT_START_S = 60.0
# An endpoint that takes 10 prompts a minute takes each of 32 concurrent prompts within so many attempts.
MIN_LIMITED_ATTEMPTS = 30


def read_requested_pause(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the endpoint asks to wait (Retry-After-Ms, Retry-After), or None."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        pause = _parse_number(text)
        if pause is not None:
            return pause / divisor
        if divisor == 1.0 and (date := _parse_date(text)) is not None:
            return max(0.0, date - time.time())
    return None


def find_pause(requested_s: float | None, n_failures: int) -> float | None:
    """Return the pause after the n-th failure in a row; None if the endpoint asks for too long a one."""
    if requested_s is not None:
        return requested_s if requested_s <= MAX_REQUESTED_S else None
    longest = min(FIRST_PAUSE_S * 2.0 ** min(n_failures - 1, 10), MAX_PAUSE_S)
    return longest * random.uniform(0.75, 1)


def find_pause_of_limit(
    requested_s: float | None, n_limited: int, waited_s: float, max_attempts: int, *, has_answered: bool
) -> float | None:
    """Return the pause after the n-th 429 in a row; None if the prompt has waited long enough.

    Args:
        waited_s: seconds since the first of them.
        has_answered: whether the endpoint has answered any prompt of this run.
    """
    patience_s, n_min = (
        (MAX_LIMITED_S, MIN_LIMITED_ATTEMPTS) if has_answered else (MAX_LIMITED_AT_START_S, max_attempts)
    )
    if (requested_s or 0) > MAX_LIMITED_S or (waited_s > patience_s and n_limited >= n_min):
        return None
    if requested_s is None:
        return find_pause(None, n_limited)
    # An endpoint that asks for 0 s again and again is not asked without a pause.
    return max(requested_s, min(0.01 * 2.0 ** min(n_limited, 10), MAX_PAUSE_S))


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _parse_date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# The largest numbers of log-probabilities that the API guarantees.
N_LOGPROBS_COMPLETION = 5
N_LOGPROBS_CHAT = 20


def build_parameters(sampling: Sampling, style: str) -> dict[str, Any]:
    """Return the sampling parameters as they are in the body of a request."""
    given = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed_of_repeat,
        "stop": list(sampling.stop) or None,
    }
    names = dict(sampling.rename)
    body: dict[str, Any] = {
        names.get(name, name): value
        for name, value in given.items()
        if value is not None and name not in sampling.leave_out
    }
    if sampling.logprobs and style == "chat":
        body |= {"logprobs": True, "top_logprobs": N_LOGPROBS_CHAT}
    elif sampling.logprobs:
        body["logprobs"] = N_LOGPROBS_COMPLETION
    return body | sampling.read_extra_body()


def advise_on_refusal(message: str, sampling: Sampling, style: str) -> str:
    """Return "; " and the remedy if the endpoint's message names a parameter that was sent; else nothing."""
    original = {new: name for name, new in sampling.rename}
    for sent in (*build_parameters(sampling, style), STREAM):
        if re.search(rf"\b{re.escape(sent)}\b", message):
            return f"; {_advise(original.get(sent, sent), message, sampling)} in the table of the model"
    return ""


def _advise(name: str, message: str, sampling: Sampling) -> str:
    if name == "max_tokens" and "max_completion_tokens" in message and not sampling.rename:
        return 'set rename = { max_tokens = "max_completion_tokens" }'
    if name in sampling.read_extra_body():
        return f"change {name} in extra_body"
    if name in ("logprobs", "top_logprobs"):
        return "set logprobs = false"
    return f'set leave_out = ["{name}"], so that it is not sent,'


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
_HOST = re.compile(r"(https?://)(?:[^/?#]*@)?([\w.-]+)")


@dataclass(frozen=True)
class Answer:
    """A completion and, if it is an error, the cause of the error."""

    completion: Completion
    fault: Fault = "none"
    remedy: str = ""
    """Likely fault of the endpoint, if every prompt meets this error."""


@dataclass(frozen=True)
class Attempt:
    """The answer to one request, and whether and when to send the request again."""

    answer: Answer
    is_retryable: bool = False
    is_limited: bool = False
    requested_s: float | None = None


@dataclass
class Endpoint:
    """An endpoint, its client, and its state in this run."""

    config: EngineConfig
    client: EndpointClient
    key: str | None
    has_answered: bool = False
    is_stopping: bool = False
    """True if nothing more is sent."""

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
        if endpoint.is_stopping:
            return attempt.answer


async def _attempt(endpoint: Endpoint, prompt: Prompt, sampling: Sampling) -> Attempt:
    path, body = _build_request(endpoint.config, prompt, sampling)
    try:
        reply = await endpoint.client.post(path, body, limit_size(sampling))
        if not reply.is_success:
            return _read_failure(endpoint, reply, sampling, prompt.style)
        return Attempt(Answer(read_completion(reply.content, prompt, endpoint.hide)))
    except NoReplyInTimeError as error:
        return Attempt(endpoint.fail(str(error), "slow"), is_retryable=True)
    except NoConnectionError as error:
        return Attempt(endpoint.fail(str(error), "unreachable"), is_retryable=True)
    except AbortedAnswerError as error:
        return Attempt(endpoint.fail(str(error), "unreachable"))
    except (BrokenReplyError, UnreadableAnswerError) as error:
        return Attempt(endpoint.fail(str(error), "endpoint"))
    except Exception as error:  # No reply may cost another prompt its answer.
        reason = f"the answer cannot be read: {type(error).__name__}: {error}"
        return Attempt(endpoint.fail(reason, "endpoint"))


def _build_request(config: EngineConfig, prompt: Prompt, sampling: Sampling) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": config.model, **build_parameters(sampling, prompt.style)}
    # This is no parameter of the sampling, because an answer does not depend on the way in which it is sent.
    body |= {} if STREAM in config.leave_out else {STREAM: False}
    if prompt.style == "chat":
        return "/chat/completions", {"messages": read_messages(prompt), **body}
    return "/completions", {"prompt": prompt.text, **body}


def limit_size(sampling: Sampling) -> int:
    """Return the bytes that an answer may have; a larger one is not read to its end."""
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
        host = _HOST.match(reply.headers.get("Location", ""))
        return f"{words} - redirected{f' to {host[1]}{host[2]}' if host else ''}", None
    try:
        answer = read_json(reply.content)
    except UnreadableAnswerError:
        return words, None
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return words, None
    message = error.get("message")
    return (f"{words} - {message}" if isinstance(message, str) and message else words), error.get("code")
