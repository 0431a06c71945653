"""Change what this process logs before anything is written: messages and tracebacks."""

import logging
import traceback
from collections.abc import Callable

from primitives.untrusted_text import escape_controls


def escape_logs() -> None:
    """Escape control characters in everything that this process logs from now on."""
    rewrite_logs(escape_controls)


def rewrite_logs(rewrite: Callable[[str], str]) -> None:
    """Let the function change every message and traceback that this process logs from now on.

    A second call with the same function does nothing.
    """
    make = logging.getLogRecordFactory()
    rewrites: frozenset[object] = getattr(make, "rewrites", frozenset())
    if rewrite in rewrites:
        return

    def make_rewritten(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)
        _rewrite_record(record, rewrite)
        return record

    make_rewritten.rewrites = rewrites | {rewrite}  # type: ignore[attr-defined]
    logging.setLogRecordFactory(make_rewritten)


def _rewrite_record(record: logging.LogRecord, rewrite: Callable[[str], str]) -> None:
    try:
        said = record.getMessage()
    except (TypeError, ValueError, KeyError):
        # The arguments do not fit the message. Logging reports that when it writes the record.
        return
    if (rewritten := rewrite(said)) != said:
        record.msg, record.args = rewritten, None
    if record.exc_info and record.exc_info[0] is not None:
        trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (rewritten := rewrite(trace)) != trace:
            # Formatters print exc_text instead of the traceback if it is set.
            record.exc_info, record.exc_text = None, rewritten
