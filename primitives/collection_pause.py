"""Pause Python's garbage collector while a large library is imported.

An import makes hundreds of thousands of objects that live until the process ends. The collector would scan
them again and again, which takes a fifth of the time of an import, and more later.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()
_n_pauses = 0


@contextmanager
def pause_collection() -> Iterator[None]:
    """Collect nothing during the block, and hide the objects that exist at its end from later collections.

    Several threads may import at the same time: the collector runs again when the last of them has finished.
    """
    global _n_pauses
    with _LOCK:
        _n_pauses += 1
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            _n_pauses -= 1
            if not _n_pauses:
                gc.freeze()
                gc.enable()
