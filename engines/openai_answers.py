"""One request to an OpenAI endpoint, and the completion or error that its answer becomes.

The texts of errors of single prompts are stored with the responses, so their wording stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from config.engines import EngineConfig
from engines.openai_parameters import advise_on_refusal, build_parameters
from engines.prompts import read_messages
from primitives.errors import InputError
from primitives.secrets import MIN_LENGTH, hide_value
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

Number = TypeVar("Number", int, float)
Fault = Literal["none", "prompt", "endpoint", "slow", "unreachable"]
# The server behind the gateway is down or overloaded, for an unknown time. The prompt is not the cause.
UNAVAILABLE = (429, 502, 503, 504)
# The finish_reason of a prompt that vLLM aborted at shutdown. The status is 200, and the text is incomplete.
ABORTED = ("abort", "error")
# The fields of a chat message in which endpoints return what the model thought.
REASONING_FIELDS = ("reasoning_content", "reasoning")
# No prompt can pass. With 403, some gateways also refuse single prompts for their content.
REFUSALS = {
    401: "refuses the key; check the variable named in api_key_env, or its block",
    404: "does not know the model or the path; check model and base_url",
}


@dataclass(frozen=True)
class Answer:
    """A completion and, if it is an error, the cause of the error."""

    completion: Completion
    fault: Fault = "none"


def ask_endpoint(
    client: OpenAI, config: EngineConfig, prompt: Prompt, sampling: Sampling, key: str | None
) -> Answer:
    """Return the answer to one prompt, after the client's retries. The key is hidden everywhere in it.

    Raises:
        InputError: the endpoint refuses the key or does not know the model (401, 404).
    """
    import httpx
    import openai

    try:
        result = _send(client, config.model, prompt, sampling)
    except openai.APITimeoutError as error:
        # A host that is switched off does not refuse a connection, so connecting to it ends in a timeout.
        if isinstance(error.__cause__, httpx.ConnectTimeout):
            return _fail(f"no connection within {config.timeout_s:g} s", "unreachable")
        return _fail(f"no answer within {config.timeout_s:g} s", "slow")
    except openai.APIConnectionError as error:
        return _fail(f"connection failed: {_hide(error.__cause__ or error, key)}", "unreachable")
    except openai.APIStatusError as error:
        return _explain_status(error, config, sampling, prompt.style, key)
    except InputError:
        raise
    except (openai.OpenAIError, ValueError) as error:
        return _fail(f"the answer cannot be read: {_hide(error, key)}", "endpoint")
    return _hide_in_answer(_read_result(result, prompt.style, key), key)


def _send(client: OpenAI, model: str, prompt: Prompt, sampling: Sampling) -> object:
    # Everything goes through extra_body, because the client refuses parameters that it does not know.
    body = build_parameters(sampling, prompt.style)
    if prompt.style == "chat":
        messages: Any = read_messages(prompt)
        return client.chat.completions.create(model=model, messages=messages, extra_body=body)
    return client.completions.create(model=model, prompt=prompt.text, extra_body=body)


def _explain_status(
    error: APIStatusError, config: EngineConfig, sampling: Sampling, style: str, key: str | None
) -> Answer:
    status, message = error.status_code, _hide(error, key)
    if status in REFUSALS:
        raise InputError(
            f"model {config.name!r}: the endpoint {REFUSALS[status]} (HTTP {status}: {message})"
        ) from None
    if status in UNAVAILABLE:
        return _fail(f"HTTP {status}: {message}", "unreachable")
    if status in (408, 409) or status >= 500:
        return _fail(f"HTTP {status}: {message}", "endpoint")
    if error.code == "context_length_exceeded" or "maximum context length" in message:
        return _fail(f"{PROMPT_TOO_LONG}: {message}", "prompt")
    # A message about credit (402) or moderation (403) can name a parameter that is not its cause.
    advice = advise_on_refusal(message, sampling, style) if status in (400, 422) else ""
    return _fail(f"HTTP {status}: {message}{advice}", "prompt")


def _hide(error: BaseException, key: str | None) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return hide_value(text, key)[:300]


def _hide_in_answer(answer: Answer, key: str | None) -> Answer:
    """Return the answer without the key. An endpoint may repeat the key in any of its texts."""
    if key is None or len(key) < MIN_LENGTH:
        return answer
    said = answer.completion
    hidden = replace(
        said,
        response=said.response and hide_value(said.response, key),
        error=said.error and hide_value(said.error, key),
        finish_reason=said.finish_reason and hide_value(said.finish_reason, key),
        reasoning=said.reasoning and hide_value(said.reasoning, key),
        served=said.served and hide_value(said.served, key),
    )
    return replace(answer, completion=hidden)


def _fail(reason: str, fault: Fault) -> Answer:
    return Answer(Completion(None, status="error", error=reason), fault)


def _read_result(result: Any, style: str, key: str | None) -> Answer:  # noqa: ANN401 (an endpoint sends anything)
    try:
        choice = result.choices[0]
        text, reasoning = _read_message(choice.message) if style == "chat" else (choice.text, None)
        finish_reason = choice.finish_reason
    except (AttributeError, IndexError, TypeError, KeyError):
        return _fail(f"the answer holds no choice: {hide_value(str(result), key)[:100]!r}", "endpoint")
    if text is None and (reasoning is not None or finish_reason is not None) and style == "chat":
        # An empty answer: the model has used all its tokens for reasoning, or it said nothing. A retry would
        # be paid for as well, and would give the same.
        text = ""
    if finish_reason in ABORTED:
        return _fail(f"the answer was cut short (finish_reason {finish_reason})", "unreachable")
    if not isinstance(text, str):
        return _fail(f"the answer holds no text (finish_reason {finish_reason})", "endpoint")
    # The first token of a reply with reasoning is not the first token of its answer.
    read_logprobs = _read_chat_logprobs if style == "chat" else _read_completion_logprobs
    logprob_true, logprob_false = read_logprobs(choice) if reasoning is None else (None, None)
    usage = getattr(result, "usage", None)
    return Answer(
        Completion(
            text,
            finish_reason=finish_reason if isinstance(finish_reason, str) else None,
            n_prompt_tokens=_as_number(getattr(usage, "prompt_tokens", None), int),
            n_completion_tokens=_as_number(getattr(usage, "completion_tokens", None), int),
            logprob_true=_as_number(logprob_true, float),
            logprob_false=_as_number(logprob_false, float),
            reasoning=reasoning,
            served=_describe_served(result),
        )
    )


def _read_message(message: Any) -> tuple[object, str | None]:  # noqa: ANN401
    """Return the text of a chat message, which may be null, and the reasoning that came apart from it."""
    content = message.content
    fields = (getattr(message, name, None) for name in REASONING_FIELDS)
    reasoning = next((field for field in fields if isinstance(field, str) and field), None)
    if isinstance(content, list):
        text, thought = (_join_parts(content, kind) for kind in ("text", "thinking"))
        return text, thought or reasoning
    return content, reasoning


def _join_parts(parts: list[Any], kind: str) -> str:
    """Return the text of all parts of a kind. A thought is a list of parts with texts."""
    found = [part.get(kind) for part in parts]
    return "".join(_join_parts(each, "text") if isinstance(each, list) else each for each in found if each)


def _describe_served(result: object) -> str | None:
    """Return the name and the fingerprint of the model that answered, as the endpoint reports them."""
    said = (getattr(result, name, None) for name in ("model", "system_fingerprint"))
    return ", ".join(text for text in said if isinstance(text, str) and text) or None


def _as_number(value: object, kind: type[Number]) -> Number | None:
    """Return the number, or None for anything else: the error about a wrong type would contain the value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or kind(value) != value:
        return None
    return kind(value)


def _read_completion_logprobs(choice: Any) -> tuple[float | None, float | None]:  # noqa: ANN401
    try:
        top = choice.logprobs.top_logprobs[0]
        return top.get(" True"), top.get(" False")
    except (AttributeError, IndexError, TypeError):
        return None, None


def _read_chat_logprobs(choice: Any) -> tuple[float | None, float | None]:  # noqa: ANN401
    """Return the log-probability of True and of False, of the likelier spelling with or without a space.

    It depends on the end of the chat template whether a reply begins with a space.
    """
    try:
        top = choice.logprobs.content[0].top_logprobs
        found = [
            max((t.logprob for t in top if t.token.strip() == word), default=None)
            for word in ("True", "False")
        ]
    except (AttributeError, IndexError, TypeError):
        return None, None
    return found[0], found[1]
