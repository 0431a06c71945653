"""Memory, cores and signals of this process: the allocator, the collector, and work in threads."""

import atexit
import gc
import os
import signal
import sys
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_THREADS = 4
"""The most items that are worked on at a time, because each of them is in memory."""
# jemalloc keeps freed memory for ten seconds by default. With a tenth of a second, building a base of 8
# million rows needs 1.6 GB of memory instead of 2.0, in the same time. Libraries read it while they load.
ALLOCATOR_VARIABLES = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:100,muzzy_decay_ms:0"}


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect nothing during the block, and hide the objects that exist after an import.

    Large libraries create a million objects when they are imported, which live until the process ends. The
    collector would scan them again and again: it takes a quarter of the time of an import. After
    `gc.unfreeze`, and when the process ends, it sees all of them.
    """
    was_enabled, n_modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > n_modules:
            gc.freeze()
            # DuckDB would print 60 lines about objects that are left when the process ends.
            atexit.register(gc.unfreeze)
        if was_enabled:
            gc.enable()


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result for each item, in the order of the items.

    Polars, NumPy, SciPy and PyArrow release Python's lock in most of their work, so threads use all cores.
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


def finish(work: Callable[[], Result]) -> Result:
    """Do the work in another thread, so that no signal interrupts it, and return its result.

    Raises:
        BaseException: what the work raises; else, once it is done, what a signal or Prefect raises.
    """
    interrupt: BaseException | None = None
    future: Future[Result] = Future()
    context = copy_context()

    def do_work() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:
            future.set_exception(error)

    with _defer_signals():
        # The start of a `Thread` waits for the thread, and Prefect can break off this wait.
        start_new_thread(do_work, ())
        while True:
            try:
                wait([future])
                break
            except BaseException as error:
                interrupt = error
        result = future.result()
    if interrupt is not None:
        raise interrupt
    return result


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Call the handlers of signals after the block, because their exceptions could be raised anywhere in it.

    Only the main thread handles signals, so nothing is deferred in another one.
    """
    if current_thread() is not main_thread():
        yield
        return
    handled = ((number, signal.getsignal(number)) for number in signal.valid_signals())
    handlers: dict[int, Any] = {number: handler for number, handler in handled if callable(handler)}
    pending: list[int] = []
    is_deferring = True

    def defer(number: int, frame: FrameType | None) -> None:
        if is_deferring:
            pending.append(number)
        else:
            handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, defer)
    try:
        yield
    finally:
        # From here on, a handler may raise, and those that are not restored yet still call the original.
        is_deferring = False
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for received in pending:
            signal.raise_signal(received)


def count_threads() -> int:
    """Return the number of items that are worked on at a time: at most one per core of this process."""
    return min(len(os.sched_getaffinity(0)), MAX_THREADS)
