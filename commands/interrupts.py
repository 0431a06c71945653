"""Interrupts: Ctrl-C, SIGTERM and a closed terminal end the command within 5 s, wherever it is.

The first signal raises KeyboardInterrupt in the main thread: answers are stored, locks are released, and
Prefect reports the state of the run. A thread ends the process if that takes too long, for example because
the main thread computes in a library that lets no signal through.
"""

import os
import signal
import sys
import threading
from types import FrameType

from pretexeval.primitives.errors import INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STATUS = 130
MESSAGE = "interrupted; run the same command again to continue"
# The rest of the 5 s is for the end of the process on a busy machine.
LIMIT_S = 4.0

_has_raised = threading.Event()
_is_reported = threading.Event()


def end_on_signals() -> None:
    """Set the handlers and start the thread, once.

    Signals that the caller of the command ignores, as nohup does, stay ignored.
    """
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        return
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    threading.Thread(target=_watch, args=(receiver,), daemon=True, name="interrupts").start()


def report_interrupt() -> None:
    """Say once that the command was interrupted."""
    if not _is_reported.is_set():
        _is_reported.set()
        print(f"pretexeval: {MESSAGE}", file=sys.stderr, flush=True)


def _interrupt(_: int, __: FrameType | None) -> None:
    """Raise KeyboardInterrupt at the first signal. A second one must not break off what the first began."""
    INTERRUPTED.set()
    if not _has_raised.is_set():
        _has_raised.set()
        raise KeyboardInterrupt


def _watch(receiver: int) -> None:
    """End the process LIMIT_S after the first signal. The system writes the number of each signal here."""
    while os.read(receiver, 1)[0] not in SIGNALS:
        pass
    # Prefect handles SIGTERM itself while a flow runs.
    INTERRUPTED.set()
    # If the main thread ends in time, this thread ends with it.
    threading.Event().wait(LIMIT_S)
    report_interrupt()
    # vLLM's processes, which would wait for this one.
    if multiprocessing := sys.modules.get("multiprocessing"):
        for child in multiprocessing.active_children():
            child.kill()
    os._exit(STATUS)
