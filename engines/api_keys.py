"""API keys of endpoints: the names of their Secret blocks, missing keys, and keeping keys out of logs."""

import logging
import traceback
from collections.abc import Callable

from primitives.repeated_keys import MIN_LENGTH, hide_value

_hidden_keys: set[str] = set()


def name_secret_block(variable: str) -> str:
    """Return the name of the Prefect Secret block for a variable: `openrouter-key` for `OPENROUTER_KEY`."""
    return variable.lower().replace("_", "-")


def explain_missing_key(variable: str) -> str:
    """Return the error message for a variable that is not set, then "; " and how to provide the key."""
    return (
        f"the environment variable {variable} is not set, and no Prefect Secret block "
        f"{name_secret_block(variable)!r} was found; set the variable, or create the block "
        "on the page that `prefect block create secret` names"
    )


def is_sendable(key: str) -> bool:
    """Return whether an HTTP header can hold the key. If not, the client's error would contain the key."""
    return all("!" <= character <= "~" for character in key)


def keep_out_of_logs(key: str) -> None:
    """Hide the key in everything that this process logs from now on, including tracebacks.

    At the level DEBUG, the HTTP libraries log headers and answers, and Prefect sends logs to its server. A
    key of fewer than MIN_LENGTH characters is not hidden, because it could be part of any word.
    """
    if len(key) < MIN_LENGTH:
        return
    if not _hidden_keys:
        logging.setLogRecordFactory(_wrap_record_factory(logging.getLogRecordFactory()))
    _hidden_keys.add(key)


def _wrap_record_factory(make: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
    def make_without_keys(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)
        _hide_keys_in_record(record)
        return record

    return make_without_keys


def _hide_keys_in_record(record: logging.LogRecord) -> None:
    try:
        said = record.getMessage()
    except (TypeError, ValueError, KeyError):
        # The arguments do not fit the message. Logging reports that when it writes the record.
        return
    hidden = hide_known_keys(said)
    if hidden != said:
        record.msg, record.args = hidden, None
    if record.exc_info and record.exc_info[0] is not None:
        trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (without := hide_known_keys(trace)) != trace:
            # Formatters print exc_text instead of the traceback if it is set.
            record.exc_info, record.exc_text = None, without


def hide_known_keys(text: str) -> str:
    """Return the text without the keys that this process has used so far, in whatever form they are in it."""
    for key in _hidden_keys:
        text = hide_value(text, key)
    return text
