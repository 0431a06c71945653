"""Work on several items at a time, in threads of this process.

Polars, NumPy, SciPy and PyArrow release Python's lock in most of their work, so two threads use two cores.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_THREADS = 4
"""Items that are in memory at the same time, at most."""


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result for each item, in the order of the items.

    An item is taken when a thread is free for it, so memory holds few items at a time. Every call runs in a
    copy of the caller's context, so that a logger finds its run.

    Raises:
        Exception: what the function raises for the first item that fails. Items that were begun are finished
            before that, and no further one is begun.
    """
    n_threads = count_threads()
    begun: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as executor:
        for item in items:
            begun.append(executor.submit(copy_context().run, function, item))
            if len(begun) >= n_threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def count_threads() -> int:
    """Return how many items are worked on at a time: one for each core that the process may use."""
    return min(len(os.sched_getaffinity(0)), MAX_THREADS)
