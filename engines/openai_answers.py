"""One request to an OpenAI endpoint, and what can be made of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from config import EngineConfig
from engines.base import Completion, Prompt, Sampling
from engines.prompts import PROMPT_TOO_LONG, read_messages
from schemas.errors import InputError

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

Fault = Literal["none", "prompt", "endpoint", "slow", "unreachable"]
# The most that the API promises: 5 for completions, 20 for chat.
N_LOGPROBS_COMPLETION = 5
N_LOGPROBS_CHAT = 20
REFUSED = {
    401: "refuses the key; check the variable named in api_key_env",
    403: "forbids the request; check what the key may use",
    404: "does not know the model or the path; check model and base_url",
}


@dataclass(frozen=True)
class Answer:
    """A completion, and whose fault it is if it is an error."""

    completion: Completion
    fault: Fault = "none"


def ask_endpoint(
    client: OpenAI, config: EngineConfig, prompt: Prompt, sampling: Sampling, key: str | None
) -> Answer:
    """The answer to one prompt, after the client's retries; no error text holds the key.

    Raises:
        InputError: the endpoint refuses the key or does not know the model (401, 403, 404).
    """
    import openai

    try:
        result = _send(client, config.model, prompt, sampling)
    except openai.APITimeoutError:
        return _fail(f"no answer within {config.timeout_s:g} s", "slow")
    except openai.APIConnectionError as error:
        return _fail(f"connection failed: {_hide(error.__cause__ or error, key)}", "unreachable")
    except openai.APIStatusError as error:
        return _explain_status(error, config, key)
    except InputError:
        raise
    except (openai.OpenAIError, ValueError) as error:
        return _fail(f"the answer cannot be read: {_hide(error, key)}", "endpoint")
    return _read_result(result, prompt.style)


def _send(client: OpenAI, model: str, prompt: Prompt, sampling: Sampling) -> object:
    options: dict[str, Any] = {
        "model": model,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
    }
    if sampling.seed is not None:
        options["seed"] = sampling.seed
    if sampling.stop:
        options["stop"] = list(sampling.stop)
    if prompt.style == "chat":
        if sampling.logprobs:
            options |= {"logprobs": True, "top_logprobs": N_LOGPROBS_CHAT}
        options["messages"] = read_messages(prompt)
        return client.chat.completions.create(**options)
    if sampling.logprobs:
        options["logprobs"] = N_LOGPROBS_COMPLETION
    return client.completions.create(prompt=prompt.text, **options)


def _explain_status(error: APIStatusError, config: EngineConfig, key: str | None) -> Answer:
    status, message = error.status_code, _hide(error, key)
    if status in REFUSED:
        raise InputError(
            f"model {config.name!r}: the endpoint {REFUSED[status]} (HTTP {status}: {message})"
        ) from None
    if status in (408, 409, 429) or status >= 500:
        return _fail(f"HTTP {status}: {message}", "endpoint")
    if error.code == "context_length_exceeded" or "maximum context length" in message:
        return _fail(f"{PROMPT_TOO_LONG}: {message}", "prompt")
    return _fail(f"HTTP {status}: {message}", "prompt")


def _hide(error: BaseException, key: str | None) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return (text.replace(key, "***") if key else text)[:300]


def _fail(reason: str, fault: Fault) -> Answer:
    return Answer(Completion(None, status="error", error=reason), fault)


def _read_result(result: Any, style: str) -> Answer:  # noqa: ANN401 (an endpoint sends anything)
    try:
        choice = result.choices[0]
        text = choice.message.content if style == "chat" else choice.text
        finish_reason = choice.finish_reason
    except (AttributeError, IndexError, TypeError, KeyError):
        return _fail(f"the answer holds no choice: {str(result)[:100]!r}", "endpoint")
    if not isinstance(text, str):
        return _fail(f"the answer holds no text (finish_reason {finish_reason})", "endpoint")
    read_logprobs = _read_chat_logprobs if style == "chat" else _read_completion_logprobs
    logprob_true, logprob_false = read_logprobs(choice)
    usage = getattr(result, "usage", None)
    return Answer(
        Completion(
            text,
            finish_reason=finish_reason,
            n_prompt_tokens=getattr(usage, "prompt_tokens", None),
            n_completion_tokens=getattr(usage, "completion_tokens", None),
            logprob_true=logprob_true,
            logprob_false=logprob_false,
        )
    )


def _read_completion_logprobs(choice: Any) -> tuple[float | None, float | None]:  # noqa: ANN401
    try:
        top = choice.logprobs.top_logprobs[0]
        return top.get(" True"), top.get(" False")
    except (AttributeError, IndexError, TypeError):
        return None, None


def _read_chat_logprobs(choice: Any) -> tuple[float | None, float | None]:  # noqa: ANN401
    """A reply begins with or without a space, as the model's template ends; the likelier counts."""
    try:
        top = choice.logprobs.content[0].top_logprobs
        found = [
            max((t.logprob for t in top if t.token.strip() == word), default=None)
            for word in ("True", "False")
        ]
    except (AttributeError, IndexError, TypeError):
        return None, None
    return found[0], found[1]
