"""The garbage collector during imports."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect nothing during the block, and hide the objects that exist after an import.

    Large libraries create a million objects when they are imported, which live until the process ends. The
    collector would scan them again and again: it takes a quarter of the time of an import. After
    `gc.unfreeze` it sees all of them.
    """
    was_enabled, n_modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > n_modules:
            gc.freeze()
        if was_enabled:
            gc.enable()
