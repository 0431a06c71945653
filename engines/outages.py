"""Ask an endpoint that can become unavailable: wait for it, then ask only the prompts without an answer."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Container

from engines.openai_answers import Answer
from primitives.errors import InputError

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
) -> None:
    """Give the answer to every number that is not answered to `keep`, as soon as it is there.

    After an outage, only the numbers without an answer are asked again.

    Args:
        ask: returns the answer to the prompt with this number.
        answered: the numbers that `keep` has got.
        wait: gets an answer with the fault "unreachable"; returns when the endpoint is up again, or raises.
    """
    n_outages: Counter[int] = Counter()
    while waiting := [number for number in numbers if number not in answered]:
        unreached = await ask_concurrently(ask, waiting, keep, n_at_once)
        if unreached:
            await wait(unreached[min(unreached)])
        n_outages.update(unreached.keys())
        for number, answer in unreached.items():
            if n_outages[number] >= MAX_OUTAGES:
                keep(number, answer)


async def ask_concurrently(
    ask: Ask, numbers: Collection[int], keep: Keep, n_at_once: int
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
            if unreached or errors:
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
