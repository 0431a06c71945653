"""The beginning of the command: what has to happen before anything is imported that takes time."""

import os

from commands.interrupts import STATUS, end_on_signals, report_interrupt
from pretexeval.primitives.process import ALLOCATOR_VARIABLES


def run() -> None:
    """Handle signals, then run the command and end the process with its exit status."""
    end_on_signals()
    for name, value in ALLOCATOR_VARIABLES.items():
        os.environ.setdefault(name, value)
    try:
        from commands import main

        main.run()
    except KeyboardInterrupt:
        report_interrupt()
        os._exit(STATUS)
