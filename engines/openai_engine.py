"""The engine for any endpoint that speaks the OpenAI API: vLLM's server, a gateway or a vendor."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from config.engines import EngineConfig
from engines.api_keys import explain_missing_key, is_sendable
from engines.base import EngineLostError
from engines.openai_answers import Answer, ask_endpoint
from engines.outages import ask_through_outages
from primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling

logger = logging.getLogger(__name__)

# The server of a large model takes some minutes to restart.
MAX_WAIT_S = 600.0
PROBE_INTERVAL_S = 5.0
# A probe is an ordinary request, because a gateway can be up while the server behind it is down.
PROBE_PROMPTS = {
    "completion": Prompt("completion", "Hello"),
    "chat": Prompt("chat", '[{"content": "Hello", "role": "user"}]'),
}


class OpenaiEngine:
    """Concurrent requests to one endpoint. The client retries, and waits as long as the endpoint asks."""

    def __init__(self, config: EngineConfig) -> None:
        """Prepare the client without sending anything.

        Raises:
            InputError: the variable of the key is not set, or the address is not valid.
        """
        import openai

        self._config = config
        self._address = render_safe_address(config)
        self._has_answered = False
        self._key = read_api_key(config)
        self._client = openai.OpenAI(
            base_url=config.base_url,
            # A local server needs no key. Without this text the client would send the user's OPENAI_API_KEY.
            api_key=self._key or "none",
            timeout=config.timeout_s,
            max_retries=config.max_attempts - 1,
        )

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """Return one completion per prompt, in order. Wait for an endpoint that becomes unavailable.

        Raises:
            EngineLostError: the endpoint refuses the key, does not know the model, is not reachable, is not
                reachable again within MAX_WAIT_S, or has never sent a readable answer. The error holds the
                completions so far.
        """
        answers: dict[int, Answer] = {}
        try:
            self._ask(prompts, sampling, on_progress or _ignore, answers)
        except InputError as error:
            given = {n: each.completion for n, each in answers.items() if each.fault == "none"}
            raise EngineLostError(str(error), given) from error
        return [answers[number].completion for number in range(len(prompts))]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None],
        answers: dict[int, Answer],
    ) -> None:
        """Put an answer to every prompt into `answers`. If this raises, the answers so far stay there."""

        def ask(number: int) -> Answer:
            return ask_endpoint(self._client, self._config, prompts[number], sampling, self._key)

        if prompts and not self._has_answered:
            # The first request is sent alone: an endpoint that is down is then noticed after the retries of
            # one request and not after those of all.
            answers[0] = ask(0)
            if answers[0].fault in ("unreachable", "slow"):
                raise self._explain_silence(answers[0])
            on_progress(1)
        ask_through_outages(
            ask,
            range(len(prompts)),
            answers,
            n_at_once=self._config.concurrency,
            wait=lambda silence: self._wait_for_endpoint(prompts[0].style, sampling, silence),
            on_progress=on_progress,
        )
        self._require_an_answer(list(answers.values()))

    def _wait_for_endpoint(self, style: str, sampling: Sampling, silence: Answer) -> None:
        """Return as soon as the endpoint answers a throwaway prompt.

        Raises:
            InputError: it gives no answer within MAX_WAIT_S.
        """
        said = f"{silence.completion.error}; waiting up to {MAX_WAIT_S:g} s for {self._address}"
        logger.warning("model %r: %s", self._config.name, said)
        client = self._client.with_options(max_retries=0)
        probe = replace(sampling, max_tokens=1)
        deadline = time.monotonic() + MAX_WAIT_S
        while True:
            answer = ask_endpoint(client, self._config, PROBE_PROMPTS[style], probe, self._key)
            if answer.fault in ("none", "prompt"):
                return
            if time.monotonic() >= deadline:
                raise self._explain_silence(silence, f", then a wait of {MAX_WAIT_S:g} s")
            time.sleep(PROBE_INTERVAL_S)

    def _require_an_answer(self, answers: Sequence[Answer]) -> None:
        """Note whether the endpoint has answered. Raise InputError if it has never answered any prompt."""
        faults = {answer.fault for answer in answers}
        if faults and not self._has_answered and faults <= {"unreachable", "slow", "endpoint"}:
            raise self._explain_silence(answers[0])
        self._has_answered |= "none" in faults

    def _explain_silence(self, answer: Answer, more: str = "") -> InputError:
        return InputError(
            f"model {self._config.name!r}: the endpoint {self._address} gives no answer "
            f"({answer.completion.error}, {self._config.max_attempts} attempts per request{more}); "
            "check that it is up and that base_url is right (it usually ends in /v1)"
        )


def _ignore(_: int) -> None:
    """Do nothing with the number of newly done prompts."""


def read_api_key(config: EngineConfig) -> str | None:
    """Return the key from the environment, or None if the configuration names no variable.

    The flows copy keys of Secret blocks into the environment.

    Raises:
        InputError: the variable is not set, or an HTTP header cannot hold its value.
    """
    if config.api_key_env is None:
        return None
    key = os.environ.get(config.api_key_env, "").strip()
    if not key:
        missing = explain_missing_key(config.api_key_env)
        raise InputError(
            f"model {config.name!r}: {missing}; leave api_key_env out if the endpoint needs no key"
        )
    if not is_sendable(key):
        raise InputError(
            f"model {config.name!r}: the value of {config.api_key_env} is not a valid key: it contains a "
            "space, a line break or a non-ASCII character; set the variable again"
        )
    return key


def render_safe_address(config: EngineConfig) -> str:
    """Return the endpoint's address without user, password and query, which may be secrets.

    Raises:
        InputError: it is not an HTTP address.
    """
    try:
        parts = urlsplit(config.base_url or "")
        host, is_web = parts.hostname, parts.scheme in ("http", "https")
        parts.port  # noqa: B018 (raises ValueError if it is not a number)
    except ValueError:
        host, is_web = None, False
    if not host or not is_web:
        raise InputError(
            f"model {config.name!r}: base_url is not an address such as http://127.0.0.1:8000/v1"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
