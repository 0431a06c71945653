"""Asking on through outages: who goes away is waited for, and asked only what he did not answer."""

from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed

from engines.openai_answers import Answer

# A prompt that finds nobody so often, although others are answered in between, is an error of its own:
# it may be what brings the endpoint down.
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
    """Put the answer to every number into `answers`, where those given stay if this raises.

    Args:
        ask: the answer to one prompt, which is known by its number.
        wait: gets an answer that says that nobody is there; returns when somebody is again, or raises.
    """
    n_outages: Counter[int] = Counter()
    while waiting := [number for number in numbers if number not in answers]:
        lost = ask_side_by_side(ask, waiting, answers, n_at_once, on_progress)
        if lost:
            wait(lost[min(lost)])
        n_outages.update(lost.keys())
        given_up = {n: answer for n, answer in lost.items() if n_outages[n] >= MAX_OUTAGES}
        answers.update(given_up)
        on_progress(len(given_up))


def ask_side_by_side(
    ask: Ask, numbers: Collection[int], answers: Answers, n_at_once: int, on_progress: Callable[[int], None]
) -> Answers:
    """Put answers into `answers`; what comes back is of those that found nobody.

    As soon as one finds nobody, no more are asked.
    """
    lost: Answers = {}

    def ask_one(number: int) -> int:
        if lost:
            return 0
        answer = ask(number)
        is_lost = answer.fault == "unreachable"
        (lost if is_lost else answers)[number] = answer
        return 0 if is_lost else 1

    with ThreadPoolExecutor(n_at_once) as pool:
        futures = [pool.submit(ask_one, number) for number in numbers]
        try:
            for future in as_completed(futures):
                on_progress(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return lost
