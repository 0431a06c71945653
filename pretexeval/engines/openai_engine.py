"""The engine for any endpoint that speaks the OpenAI API: vLLM's server, a gateway or a vendor."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Container, Coroutine, Sequence
from dataclasses import replace
from typing import TypeVar

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine
from pretexeval.engines.endpoint_client import EndpointClient, read_api_key, render_safe_address
from pretexeval.engines.openai_answers import Answer, Endpoint, ask_endpoint, limit_size
from pretexeval.engines.spending import Spending
from pretexeval.primitives.errors import INTERRUPTED, InputError
from pretexeval.primitives.process import finish
from schemas.exchange import Completion, Prompt, Sampling

logger = logging.getLogger(__name__)


Result = TypeVar("Result")

TICK_S = 0.5
# How long open requests may still take when a call ends early, because their answers are paid for: less after
# a signal to a command, which ends within 5 s; a worker kills a cancelled run after 30 s.
GRACE_S = 20.0
GRACE_AFTER_SIGNAL_S = 1.0
CLOSE_S = 1.0


class LoopThread:
    """The loop runs from the first call until `close`."""

    def __init__(self) -> None:
        """Start the thread. It ends with the process at the latest."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="endpoint")
        self._thread.start()

    def run(
        self,
        coroutine: Coroutine[object, object, Result],
        on_tick: Callable[[], None] = lambda: None,
        on_interrupt: Callable[[], None] = lambda: None,
    ) -> Result:
        """Return the coroutine's result, or raise what it raises. It is cancelled if this is interrupted.

        Args:
            on_tick: is called in the calling thread, twice a second and at the end.
            on_interrupt: is called if this is interrupted, before the coroutine gets its time to end.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            while not concurrent.futures.wait([future], TICK_S).done:
                on_tick()
        except BaseException as error:
            started, is_signal = time.monotonic(), isinstance(error, KeyboardInterrupt)

            def wait_for_open_requests() -> None:
                on_interrupt()
                while not concurrent.futures.wait([future], TICK_S).done:
                    has_signal = is_signal or INTERRUPTED.is_set()
                    if time.monotonic() > started + (GRACE_AFTER_SIGNAL_S if has_signal else GRACE_S):
                        break
                future.cancel()

            # A run that has noticed that it is cancelled gets the signal of its worker meanwhile.
            finish(wait_for_open_requests)
            raise
        on_tick()
        return future.result()

    def close(self, last: Coroutine[object, object, object]) -> None:
        """Run a last coroutine, for at most CLOSE_S, and stop the loop."""
        future = asyncio.run_coroutine_threadsafe(last, self._loop)
        concurrent.futures.wait([future], CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


# A prompt that fails in so many outages gets an error of its own, because it may be the prompt that brings
# the endpoint down.
MAX_OUTAGES = 3

Ask = Callable[[int], Awaitable[Answer]]
Keep = Callable[[int, Answer], None]


async def ask_through_outages(
    ask: Ask,
    numbers: Collection[int],
    answered: Container[int],
    *,
    keep: Keep,
    n_at_once: int,
    wait: Callable[[Answer], Awaitable[None]],
    may_ask: Callable[[int], bool] = lambda _: True,
) -> None:
    """Give the answer to every number that is not answered to `keep`, as soon as it is there.

    After an outage, only the numbers without an answer are asked again.

    Args:
        ask: returns the answer to the prompt with this number.
        answered: the numbers that `keep` has got.
        wait: gets an answer with the fault "unreachable"; returns when the endpoint is up again, or raises.
        may_ask: is called before each request with its number. If it returns False while none is open, the
            rest is not asked.
    """
    n_outages: Counter[int] = Counter()
    while (waiting := [number for number in numbers if number not in answered]) and may_ask(waiting[0]):
        unreached = await ask_concurrently(ask, waiting, keep, n_at_once, may_ask)
        if unreached:
            await wait(unreached[min(unreached)])
        n_outages.update(unreached.keys())
        for number, answer in unreached.items():
            if n_outages[number] >= MAX_OUTAGES:
                keep(number, answer)


async def ask_concurrently(
    ask: Ask, numbers: Collection[int], keep: Keep, n_at_once: int, may_ask: Callable[[int], bool]
) -> dict[int, Answer]:
    """Give answers to `keep`, and return those with the fault "unreachable" instead.

    After the first of these, and after an error, no further request is started. Those that are open are
    completed, because they may be paid for.

    Raises:
        InputError: the first error that `ask` raises.
    """
    unreached: dict[int, Answer] = {}
    errors: list[InputError] = []
    waiting = iter(numbers)

    async def ask_next() -> None:
        for number in waiting:
            if unreached or errors or not may_ask(number):
                return
            try:
                answer = await ask(number)
            except InputError as error:
                errors.append(error)
                return
            if answer.fault == "unreachable":
                unreached[number] = answer
            else:
                keep(number, answer)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(n_at_once, len(numbers))):
            group.create_task(ask_next())
    if errors:
        raise errors[0]
    return unreached


# The server of a large model takes some minutes to restart.
MAX_WAIT_S = 600.0
PROBE_INTERVAL_S = 5.0
# A probe is an ordinary request, because a gateway can be up while the server behind it is down.
PROBE_PROMPTS = {
    "completion": Prompt("completion", "Hello"),
    "chat": Prompt("chat", '[{"content": "Hello", "role": "user"}]'),
}


class OpenaiEngine(Engine):
    """Concurrent requests to one endpoint, with retries. It waits as long as the endpoint asks."""

    def __init__(self, config: EngineConfig) -> None:
        """Prepare the client without sending anything.

        Raises:
            InputError: the variable of the key is not set, or the address is not valid.
        """
        self._config = config
        self._address = render_safe_address(config)
        key = read_api_key(config)
        client = EndpointClient(config.base_url or "", key, config.timeout_s, config.concurrency)
        self._endpoint = Endpoint(config, client, key)
        self._spending = Spending(config)
        self._thread = LoopThread()
        self.max_bytes = sys.maxsize
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
                reachable again within MAX_WAIT_S, or has never sent a readable answer; or the next request
                could cost more than `max_cost`.
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
        if self._spending.has_stopped:
            raise self._spending.explain_stop()

    def measure_largest(self, sampling: Sampling) -> int:
        """Return the bytes that the largest answer takes."""
        return limit_size(sampling)

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
        n_bytes, n_open, largest = 0, 0, self.measure_largest(sampling)

        def may_ask(number: int) -> bool:
            """Return whether one more answer fits, and can be paid, however large those to come become."""
            has_room = n_bytes + (n_open + 1) * largest <= self.max_bytes
            return has_room and self._spending.allows(prompts[number], sampling)

        async def ask(number: int) -> Answer:
            nonlocal n_bytes, n_open
            if self._endpoint.is_stopping:
                raise InputError("interrupted")
            prompt = prompts[number]
            n_open += 1
            self._spending.open(prompt, sampling)
            answer = await ask_endpoint(self._endpoint, prompt, sampling, self._config.max_attempts)
            self._spending.close(
                prompt, sampling, answer.completion, is_paid=answer.fault in ("none", "slow", "endpoint")
            )
            n_open -= 1
            n_bytes += answer.completion.measure_texts()
            if answer.fault == "refused":
                await self._judge_refusal(answer, prompt.style, sampling)
            return answer

        if prompts and not self._endpoint.has_answered and may_ask(0):
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
            may_ask=may_ask,
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
        # One lost connection does not end the run.
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
