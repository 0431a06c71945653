"""An event loop in a thread of its own, in which an engine waits for its endpoint.

The calling thread only waits for the result, so an interrupt never breaks into the loop, and requests that
are open can be ended at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

Result = TypeVar("Result")

TICK_S = 0.5
# How long open requests may still take after an interrupt: many answers are on their way and are paid for.
GRACE_S = 1.0
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
            on_interrupt: is called if this is interrupted, GRACE_S before the coroutine is cancelled.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            while not concurrent.futures.wait([future], TICK_S).done:
                on_tick()
        except BaseException:
            on_interrupt()
            concurrent.futures.wait([future], GRACE_S)
            future.cancel()
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
