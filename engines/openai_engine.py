"""Any endpoint that speaks the OpenAI API: vLLM's server, a gateway, a vendor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from urllib.parse import urlsplit

from config import EngineConfig
from engines.base import Completion, Prompt, Sampling
from engines.openai_answers import Answer, ask_endpoint
from schemas.errors import InputError


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
        """One completion per prompt, in order.

        Raises:
            InputError: the key is refused, the model is not there, nobody answers at the address,
                or what is there has never answered anything that can be read.
        """
        # The first request goes alone: if nobody is there, that is known after one round of
        # retries and not after one per prompt.
        n_alone = 0 if self._has_answered else 1
        answers = self._ask(prompts[:n_alone], sampling, on_progress)
        if any(answer.fault in ("unreachable", "slow") for answer in answers):
            raise self._explain_silence(answers[0])
        answers += self._ask(prompts[n_alone:], sampling, on_progress)
        self._check(answers)
        return [answer.completion for answer in answers]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None,
    ) -> list[Answer]:
        if not prompts:
            return []
        with ThreadPoolExecutor(min(self._config.concurrency, len(prompts))) as pool:
            futures = [
                pool.submit(ask_endpoint, self._client, self._config, prompt, sampling, self._key)
                for prompt in prompts
            ]
            try:
                for future in as_completed(futures):
                    future.result()
                    if on_progress:
                        on_progress(1)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]

    def _check(self, answers: Sequence[Answer]) -> None:
        """Stop where the fault is the endpoint's and not a prompt's.

        An endpoint that is gone is not recorded as thousands of failed prompts; a single prompt
        that fails is, and only it.
        """
        faults = {answer.fault for answer in answers}
        if faults == {"unreachable"} or (
            faults and not self._has_answered and faults <= {"unreachable", "slow", "endpoint"}
        ):
            raise self._explain_silence(answers[0])
        self._has_answered |= "none" in faults

    def _explain_silence(self, answer: Answer) -> InputError:
        return InputError(
            f"model {self._config.name!r}: the endpoint {self._address} gives no answer "
            f"({answer.completion.error}, {self._config.max_attempts} attempts each); "
            "check that it is up, and base_url (it usually ends in /v1)"
        )


def read_key(config: EngineConfig) -> str | None:
    """The key from the environment; null where the configuration names no variable.

    Raises:
        InputError: the variable is not set.
    """
    if config.api_key_env is None:
        return None
    if key := os.environ.get(config.api_key_env, "").strip():
        return key
    raise InputError(
        f"model {config.name!r}: the environment variable {config.api_key_env} is not set; "
        "put the endpoint's key there, or leave api_key_env out if it needs none"
    )


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
