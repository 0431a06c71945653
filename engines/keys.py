"""The keys of endpoints: their names, what is said where one is missing, and how none gets into a log."""

import logging
import traceback
from collections.abc import Callable

from primitives.secrets import MIN_LENGTH, hide_value

_kept_out: set[str] = set()


def name_block(variable: str) -> str:
    """The Prefect Secret block that stands in for a variable: `OPENROUTER_KEY`, `openrouter-key`."""
    return variable.lower().replace("_", "-")


def explain_missing(variable: str) -> str:
    """What is missing where a variable is not set, and how to provide it."""
    return (
        f"the environment variable {variable} is not set, and no Prefect Secret block "
        f"{name_block(variable)!r} was found; set the variable, or make the block "
        "on the page that `prefect block create secret` names"
    )


def is_sendable(key: str) -> bool:
    """Whether the header of a request can hold it; the errors of what sends it would repeat it."""
    return all("!" <= character <= "~" for character in key)


def keep_out_of_logs(key: str) -> None:
    """Hide the key in everything that this process logs from now on, in tracebacks as well.

    The libraries that send requests log headers and answers, once somebody sets their level so; Prefect
    sends what is logged to its server.
    """
    if len(key) < MIN_LENGTH:
        return
    if not _kept_out:
        logging.setLogRecordFactory(_hide_in(logging.getLogRecordFactory()))
    _kept_out.add(key)


def _hide_in(make: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
    def make_without_keys(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)
        _clean(record)
        return record

    return make_without_keys


def _clean(record: logging.LogRecord) -> None:
    try:
        said = record.getMessage()
    except (TypeError, ValueError, KeyError):
        # Arguments that do not fit: logging tells of it when it writes the record.
        return
    hidden = _hide_all(said)
    if hidden != said:
        record.msg, record.args = hidden, None
    if record.exc_info and record.exc_info[0] is not None:
        trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (without := _hide_all(trace)) != trace:
            # What formatters print instead of the traceback, where it is there.
            record.exc_info, record.exc_text = None, without


def _hide_all(text: str) -> str:
    for key in _kept_out:
        text = hide_value(text, key)
    return text
