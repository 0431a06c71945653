"""The beginning of the command: signals are handled before anything is imported that takes time."""

import os

from cli.interrupts import STATUS, end_on_signals, report_interrupt


def run() -> None:
    """Handle signals, then run the command and end the process with its exit status."""
    end_on_signals()
    try:
        from cli import main

        main.run()
    except KeyboardInterrupt:
        report_interrupt()
        os._exit(STATUS)
