"""The engine for any endpoint that speaks the OpenAI API: vLLM's server, a gateway or a vendor."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine, Receive
from pretexeval.engines.endpoint_client import EndpointClient, read_api_key, render_safe_address
from pretexeval.engines.openai_answers import Answer, Endpoint, ask_endpoint, limit_size
from pretexeval.engines.spending import Spending
from pretexeval.primitives.errors import INTERRUPTED, InputError
from pretexeval.primitives.process import finish
from schemas.exchange import Prompt, Sampling

logger = logging.getLogger(__name__)


Result = TypeVar("Result")

TICK_S = 0.5
# The time that open requests get when a call ends early, because their answers are paid for. It is shorter
# after a signal to a command, which ends within 5 s; a worker kills a cancelled run after 30 s.
GRACE_S = 20.0
GRACE_AFTER_SIGNAL_S = 1.0
CLOSE_S = 1.0


class LoopThread:
    """A thread that runs an event loop until `close`."""

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
            on_interrupt: is called if this is interrupted, before the wait for open requests.
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

Numbered = tuple[int, Prompt]
"""The position of a prompt in its call, and the prompt."""
Ask = Callable[[Prompt], Awaitable[Answer]]
Keep = Callable[[int, Answer], None]


async def ask_through_outages(
    ask: Ask,
    prompts: Iterator[Numbered],
    *,
    keep: Keep,
    n_at_once: int,
    wait: Callable[[Prompt, Answer], Awaitable[None]],
    may_ask: Callable[[Prompt], bool] = lambda _: True,
) -> None:
    """Give the answer to every prompt to `keep`, as soon as it is there.

    After an outage, only the prompts without an answer are asked again.

    Args:
        prompts: is read when a prompt can be sent.
        wait: gets an answer with the fault "unreachable" and its prompt; returns when the endpoint is up
            again, or raises.
        may_ask: is called before each request. If it returns False while none is open, the rest is not asked.
    """
    n_outages: Counter[int] = Counter()
    again: deque[Numbered] = deque()
    while True:
        unreached, held = await ask_concurrently(ask, again, prompts, keep, n_at_once, may_ask)
        if unreached:
            await wait(*unreached[min(unreached)])
        elif not held or not may_ask(held[0][1]):
            return
        for number, (prompt, answer) in unreached.items():
            n_outages[number] += 1
            if n_outages[number] < MAX_OUTAGES:
                held.append((number, prompt))
            else:
                keep(number, answer)
        again = deque(sorted([*held, *again], key=itemgetter(0)))


async def ask_concurrently(
    ask: Ask,
    again: deque[Numbered],
    prompts: Iterator[Numbered],
    keep: Keep,
    n_at_once: int,
    may_ask: Callable[[Prompt], bool],
) -> tuple[dict[int, tuple[Prompt, Answer]], list[Numbered]]:
    """Give answers to `keep`; return the prompts with the fault "unreachable", and those not to be asked.

    After the first of either, and after an error, no further request is started. Those that are open are
    completed, because they may be paid for.

    Args:
        again: the prompts that are asked first.

    Raises:
        Exception: the first error that `ask` or the iterator of prompts raises.
    """
    unreached: dict[int, tuple[Prompt, Answer]] = {}
    held: list[Numbered] = []
    errors: list[Exception] = []

    async def ask_next() -> None:
        while not (unreached or held or errors):
            try:
                numbered = again.popleft() if again else next(prompts, None)
                if numbered is None:
                    return
                number, prompt = numbered
                if not may_ask(prompt):
                    held.append(numbered)
                    return
                answer = await ask(prompt)
            except Exception as error:  # Open requests are completed before it is raised.
                errors.append(error)
                return
            if answer.fault == "unreachable":
                unreached[number] = prompt, answer
            else:
                keep(number, answer)

    async with asyncio.TaskGroup() as group:
        for _ in range(n_at_once):
            group.create_task(ask_next())
    if errors:
        raise errors[0]
    return unreached, held


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
        # One prompt at a time finds out whether a refusal concerns all prompts.
        self._is_judging = asyncio.Lock()

    def answer(
        self,
        prompts: Iterable[Prompt],
        sampling: Sampling,
        receive: Receive,
        on_tick: Callable[[], None],
    ) -> None:
        """Give answers to `receive` as soon as they arrive. Wait for an endpoint that becomes unavailable.

        The errors of failed prompts are handed over after the first answer, or at the end.

        Raises:
            InputError: the endpoint refuses the key, does not know the model, is not reachable, is not
                reachable again within MAX_WAIT_S, or has never sent a readable answer; or the next request
                could cost more than `max_cost`.
        """
        failed: dict[int, Answer] = {}

        def keep(number: int, answer: Answer) -> None:
            self._endpoint.has_answered |= answer.fault == "none"
            failed[number] = answer
            if self._endpoint.has_answered:
                hand_over()

        def hand_over() -> None:
            for number, answer in failed.items():
                receive(number, answer.completion)
            failed.clear()

        self._endpoint.is_stopping = False
        self._thread.run(self._ask(enumerate(prompts), sampling, keep), on_tick, self._stop)
        faults = {answer.fault for answer in failed.values()}
        if faults and not self._endpoint.has_answered and faults <= {"unreachable", "slow", "endpoint"}:
            raise self._explain_silence(next(iter(failed.values())))
        hand_over()
        if self._spending.has_stopped:
            raise self._spending.explain_stop()

    def measure_largest(self, sampling: Sampling) -> int:
        """Return the bytes that the largest answer takes."""
        return limit_size(sampling)

    def is_answering(self, style: str, sampling: Sampling) -> bool:
        """Return whether the endpoint answers a throwaway prompt of this style."""
        is_answering = self._thread.run(self._is_answering(style, sampling))
        self._endpoint.has_answered |= is_answering
        return is_answering

    def close(self) -> None:
        """Close the connections."""
        self._stop()
        self._thread.close(self._endpoint.client.close())

    def _stop(self) -> None:
        self._endpoint.is_stopping = True

    async def _ask(self, prompts: Iterator[Numbered], sampling: Sampling, keep: Keep) -> None:
        """Give an answer to every prompt to `keep`."""

        def may_ask(prompt: Prompt) -> bool:
            return self._spending.allows(prompt, sampling)

        async def ask(prompt: Prompt) -> Answer:
            if self._endpoint.is_stopping:
                raise InputError("interrupted")
            self._spending.open(prompt, sampling)
            answer = await ask_endpoint(self._endpoint, prompt, sampling, self._config.max_attempts)
            self._spending.close(
                prompt, sampling, answer.completion, is_paid=answer.fault in ("none", "slow", "endpoint")
            )
            if answer.fault == "refused":
                await self._judge_refusal(answer, prompt.style, sampling)
            return answer

        if not self._endpoint.has_answered and (first := next(prompts, None)) is not None:
            # The first request is sent alone: an endpoint that is down is then noticed after the retries of
            # one request and not after those of all.
            number, prompt = first
            answer = await ask(prompt) if may_ask(prompt) else None
            is_silent = answer is not None and answer.fault in ("unreachable", "slow")
            if answer and is_silent and not await self._is_answering(prompt.style, sampling):
                raise self._explain_silence(answer)
            if answer is None or answer.fault == "unreachable":
                prompts = chain([first], prompts)
            else:
                keep(number, answer)
        await ask_through_outages(
            ask,
            prompts,
            keep=keep,
            n_at_once=self._config.concurrency,
            wait=lambda prompt, silence: self._wait_for_endpoint(prompt.style, sampling, silence),
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

    def _explain_refusal(self, answer: Answer) -> InputError:
        said = f"the endpoint {answer.remedy} ({answer.completion.error})"
        return InputError(f"model {self._config.name!r}: {said}")

    def _explain_silence(self, answer: Answer, more: str = "") -> InputError:
        return InputError(
            f"model {self._config.name!r}: the endpoint {self._address} gives no answer "
            f"({answer.completion.error}, {self._config.max_attempts} attempts per request{more}); "
            "check that it is up and that base_url is right (it usually ends in /v1)"
        )
