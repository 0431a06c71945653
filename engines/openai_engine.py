"""Any endpoint that speaks the OpenAI API: vLLM's server, a gateway, a vendor."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from config.engines import EngineConfig
from engines.base import Completion, EngineLostError, Prompt, Sampling
from engines.keys import explain_missing, is_sendable
from engines.openai_answers import Answer, ask_endpoint
from engines.outages import ask_through_outages
from primitives.errors import InputError

logger = logging.getLogger(__name__)

# A server of a large model takes some minutes to come up again.
PATIENCE_S = 600.0
PAUSE_S = 5.0
# A request like any other, because a gateway may be up with nobody behind it.
PROBES = {
    "completion": Prompt("completion", "Hello"),
    "chat": Prompt("chat", '[{"content": "Hello", "role": "user"}]'),
}


class OpenaiEngine:
    """Concurrent requests to one endpoint; the client retries and waits as the endpoint asks."""

    def __init__(self, config: EngineConfig) -> None:
        """Prepare the client; nothing is sent yet.

        Raises:
            InputError: the variable that should hold the key is not set, or the address is none.
        """
        import openai

        self._config = config
        self._address = show_address(config)
        self._has_answered = False
        self._key = read_key(config)
        self._client = openai.OpenAI(
            base_url=config.base_url,
            # A local server needs no key, and must not be sent the user's own one.
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
        """One completion per prompt, in order. An endpoint that goes away is waited for.

        Raises:
            EngineLostError: the key is refused, the model is not there, nobody answers at the address
                or does so again in PATIENCE_S, or what is there has never answered anything that can
                be read. It holds what was answered.
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
        """Put an answer to every prompt into `answers`."""

        def ask(number: int) -> Answer:
            return ask_endpoint(self._client, self._config, prompts[number], sampling, self._key)

        if prompts and not self._has_answered:
            # The first request goes alone: if nobody is there, that is known after one round of
            # retries and not after one per prompt.
            answers[0] = ask(0)
            if answers[0].fault in ("unreachable", "slow"):
                raise self._explain_silence(answers[0])
            on_progress(1)
        ask_through_outages(
            ask,
            range(len(prompts)),
            answers,
            n_at_once=self._config.concurrency,
            wait=lambda silence: self._wait(prompts[0].style, silence),
            on_progress=on_progress,
        )
        self._check(list(answers.values()))

    def _wait(self, style: str, silence: Answer) -> None:
        """Return as soon as the endpoint answers a prompt of no account.

        Raises:
            InputError: it does not within PATIENCE_S.
        """
        said = f"{silence.completion.error}; waiting up to {PATIENCE_S:g} s for {self._address}"
        logger.warning("model %r: %s", self._config.name, said)
        client = self._client.with_options(max_retries=0)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = ask_endpoint(client, self._config, PROBES[style], Sampling(max_tokens=1), self._key)
            # A model that thinks first says nothing in one token.
            if answer.fault in ("none", "prompt", "empty"):
                return
            if time.monotonic() >= deadline:
                raise self._explain_silence(silence, f", and none came for {PATIENCE_S:g} s")
            time.sleep(PAUSE_S)

    def _check(self, answers: Sequence[Answer]) -> None:
        """Stop where the fault is the endpoint's and not a prompt's: it has never answered any."""
        faults = {answer.fault for answer in answers}
        if faults and not self._has_answered and faults <= {"unreachable", "slow", "endpoint", "empty"}:
            raise self._explain_silence(answers[0])
        self._has_answered |= "none" in faults

    def _explain_silence(self, answer: Answer, more: str = "") -> InputError:
        return InputError(
            f"model {self._config.name!r}: the endpoint {self._address} gives no answer "
            f"({answer.completion.error}, {self._config.max_attempts} attempts each{more}); "
            "check that it is up, and base_url (it usually ends in /v1)"
        )


def _ignore(_: int) -> None:
    """Nobody wants to know how many more are done."""


def read_key(config: EngineConfig) -> str | None:
    """The key from the environment, where the flows put that of a block; null if no variable is named.

    Raises:
        InputError: the variable is not set, or holds what no request can.
    """
    if config.api_key_env is None:
        return None
    key = os.environ.get(config.api_key_env, "").strip()
    if not key:
        missing = explain_missing(config.api_key_env)
        raise InputError(
            f"model {config.name!r}: {missing}; leave api_key_env out if the endpoint needs no key"
        )
    if not is_sendable(key):
        raise InputError(
            f"model {config.name!r}: what {config.api_key_env} holds is no key: there is a space, a line "
            "break or a letter beyond ASCII in it; set it anew"
        )
    return key


def show_address(config: EngineConfig) -> str:
    """The address without user, password and query, which may be secrets.

    Raises:
        InputError: it is not the address of a web server.
    """
    try:
        parts = urlsplit(config.base_url or "")
        host, is_web = parts.hostname, parts.scheme in ("http", "https")
        parts.port  # noqa: B018 (raises where it is not a number)
    except ValueError:
        host, is_web = None, False
    if not host or not is_web:
        raise InputError(
            f"model {config.name!r}: base_url is not an address such as http://127.0.0.1:8000/v1"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
