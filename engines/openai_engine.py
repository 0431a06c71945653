"""The engine for any endpoint that speaks the OpenAI API: vLLM's server, a gateway or a vendor."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from config.engines import EngineConfig
from engines.base import IncrementalEngine
from engines.endpoint_address import read_api_key, render_safe_address
from engines.endpoint_client import EndpointClient
from engines.loop_thread import LoopThread
from engines.openai_answers import Answer, Endpoint, ask_endpoint
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
    "classify": Prompt("classify", "Hello"),
}


class OpenaiEngine(IncrementalEngine):
    """Concurrent requests to one endpoint, with retries. It waits as long as the endpoint asks."""

    def __init__(self, config: EngineConfig) -> None:
        """Prepare the client without sending anything.

        Raises:
            InputError: the variable of the key is not set, or the address is not valid.
        """
        self._config = config
        self._address = render_safe_address(config)
        key = read_api_key(config)
        client = EndpointClient(config.base_url or "", key, config.timeout_s)
        self._endpoint = Endpoint(config, client, key)
        self._thread = LoopThread()
        # One prompt at a time finds out whether a refusal concerns all prompts.
        self._is_judging = asyncio.Lock()

    def generate_into(
        self,
        received: dict[int, Completion],
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None],
    ) -> None:
        """Put answers into `received` as soon as they arrive, and at the end the errors of failed prompts.

        Wait for an endpoint that becomes unavailable.

        Raises:
            InputError: the endpoint refuses the key, does not know the model, is not reachable, is not
                reachable again within MAX_WAIT_S, or has never sent a readable answer.
        """
        # The caller may remove answers from `received` as soon as they are there.
        done: set[int] = set()
        failed: dict[int, Answer] = {}
        n_reported = 0

        def keep(number: int, answer: Answer) -> None:
            if answer.fault == "none":
                received[number] = answer.completion
                self._endpoint.has_answered = True
            else:
                failed[number] = answer
            done.add(number)

        def report() -> None:
            nonlocal n_reported
            n_done = len(done)
            on_progress(n_done - n_reported)
            n_reported = n_done

        self._endpoint.is_stopping = False
        self._thread.run(self._ask(prompts, sampling, done, keep), report, self._stop)
        self._require_an_answer(list(failed.values()))
        received.update({number: answer.completion for number, answer in failed.items()})

    def is_answering(self, style: str, sampling: Sampling) -> bool:
        """Return whether the endpoint answers a throwaway prompt of this style."""
        return self._thread.run(self._is_answering(style, sampling))

    def close(self) -> None:
        """Close the connections."""
        self._stop()
        self._thread.close(self._endpoint.client.close())

    def _stop(self) -> None:
        self._endpoint.is_stopping = True

    async def _ask(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        done: Container[int],
        keep: Callable[[int, Answer], None],
    ) -> None:
        """Give an answer to every prompt to `keep`, which adds the number of the prompt to `done`."""

        async def ask(number: int) -> Answer:
            if self._endpoint.is_stopping:
                raise InputError("interrupted")
            answer = await ask_endpoint(self._endpoint, prompts[number], sampling, self._config.max_attempts)
            if answer.fault == "refused":
                await self._judge_refusal(answer, prompts[number].style, sampling)
            return answer

        if prompts and not self._endpoint.has_answered:
            # The first request is sent alone: an endpoint that is down is then noticed after the retries of
            # one request and not after those of all.
            answer = await ask(0)
            is_silent = answer.fault in ("unreachable", "slow")
            if is_silent and not await self._is_answering(prompts[0].style, sampling):
                raise self._explain_silence(answer)
            if answer.fault != "unreachable":
                keep(0, answer)
        await ask_through_outages(
            ask,
            range(len(prompts)),
            done,
            keep=keep,
            n_at_once=self._config.concurrency,
            wait=lambda silence: self._wait_for_endpoint(prompts[0].style, sampling, silence),
        )

    async def _judge_refusal(self, answer: Answer, style: str, sampling: Sampling) -> None:
        """Raise InputError if the refusal concerns every prompt: if a throwaway prompt gets no answer."""
        async with self._is_judging:
            if self._endpoint.is_stopping:
                raise InputError("interrupted")
            if await self._is_answering(style, sampling):
                self._endpoint.has_answered = True
                return
            self._stop()
            raise self._explain_refusal(answer)

    async def _is_answering(self, style: str, sampling: Sampling) -> bool:
        # The second attempt is for a connection that the endpoint has just closed.
        probe = await ask_endpoint(self._endpoint, PROBE_PROMPTS[style], sampling, max_attempts=2)
        return probe.fault == "none"

    async def _wait_for_endpoint(self, style: str, sampling: Sampling, silence: Answer) -> None:
        """Return as soon as the endpoint answers a throwaway prompt.

        Raises:
            InputError: it gives no answer within MAX_WAIT_S.
        """
        said = f"{silence.completion.error}; waiting up to {MAX_WAIT_S:g} s for {self._address}"
        logger.warning("model %r: %s", self._config.name, said)
        probe = replace(sampling, max_tokens=1)
        deadline = time.monotonic() + MAX_WAIT_S
        while True:
            answer = await ask_endpoint(self._endpoint, PROBE_PROMPTS[style], probe, max_attempts=1)
            if answer.fault in ("none", "prompt"):
                return
            if answer.fault == "refused":
                raise self._explain_refusal(answer)
            if time.monotonic() >= deadline or self._endpoint.is_stopping:
                raise self._explain_silence(silence, f", then a wait of {MAX_WAIT_S:g} s")
            await asyncio.sleep(PROBE_INTERVAL_S)

    def _require_an_answer(self, failed: Sequence[Answer]) -> None:
        """Raise InputError if the endpoint has never answered any prompt."""
        faults = {answer.fault for answer in failed}
        if faults and not self._endpoint.has_answered and faults <= {"unreachable", "slow", "endpoint"}:
            raise self._explain_silence(failed[0])

    def _explain_refusal(self, answer: Answer) -> InputError:
        said = f"the endpoint {answer.remedy} ({answer.completion.error})"
        return InputError(f"model {self._config.name!r}: {said}")

    def _explain_silence(self, answer: Answer, more: str = "") -> InputError:
        return InputError(
            f"model {self._config.name!r}: the endpoint {self._address} gives no answer "
            f"({answer.completion.error}, {self._config.max_attempts} attempts per request{more}); "
            "check that it is up and that base_url is right (it usually ends in /v1)"
        )
