"""Ask an endpoint that can become unavailable: wait for it, then ask only the prompts without an answer."""

from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed

from engines.openai_answers import Answer

# A prompt that fails in so many outages gets an error of its own, because it may be the prompt that brings
# the endpoint down.
MAX_OUTAGES = 3

Ask = Callable[[int], Answer]
Answers = dict[int, Answer]


def ask_through_outages(
    ask: Ask,
    numbers: Collection[int],
    answers: Answers,
    *,
    n_at_once: int,
    wait: Callable[[Answer], None],
    on_progress: Callable[[int], None],
) -> None:
    """Put the answer to every number into `answers`. If this raises, the answers so far stay there.

    After an outage, only the numbers without an answer are asked again.

    Args:
        ask: returns the answer to the prompt with this number.
        wait: gets an answer with the fault "unreachable"; returns when the endpoint is up again, or raises.
    """
    n_outages: Counter[int] = Counter()
    while waiting := [number for number in numbers if number not in answers]:
        unreached = ask_concurrently(ask, waiting, answers, n_at_once, on_progress)
        if unreached:
            wait(unreached[min(unreached)])
        n_outages.update(unreached.keys())
        given_up = {n: answer for n, answer in unreached.items() if n_outages[n] >= MAX_OUTAGES}
        answers.update(given_up)
        on_progress(len(given_up))


def ask_concurrently(
    ask: Ask, numbers: Collection[int], answers: Answers, n_at_once: int, on_progress: Callable[[int], None]
) -> Answers:
    """Put answers into `answers`, and return those with the fault "unreachable" instead.

    After the first of these, no further request is started.
    """
    unreached: Answers = {}

    def ask_one(number: int) -> int:
        if unreached:
            return 0
        answer = ask(number)
        is_unreached = answer.fault == "unreachable"
        (unreached if is_unreached else answers)[number] = answer
        return 0 if is_unreached else 1

    with ThreadPoolExecutor(n_at_once) as pool:
        futures = [pool.submit(ask_one, number) for number in numbers]
        try:
            for future in as_completed(futures):
                on_progress(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return unreached
