"""Text and numbers that others wrote (answers, names, messages of endpoints), made harmless.

A terminal obeys control characters, and a spreadsheet computes cells that look like formulas. Text is escaped
where a person will see it, also in everything that this process logs.
"""

import logging
import math
import re
import traceback
from collections.abc import Callable

# C0 without the line feed, DEL and C1; marks that change the direction of a line; separators of lines and
# paragraphs; the byte-order mark; halves of surrogate pairs, which no encoding can write.
_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
# A spreadsheet computes a cell that begins with one of these. East Asian versions accept the wide forms.
FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape_controls(text: str) -> str:
    """Return the text with ``\\u001b`` and the like in place of control characters; line feeds stay."""
    return _CONTROL.sub(_escape, text)


def replace_surrogates(text: str | None) -> str | None:
    """Replace lone surrogates by U+FFFD: JSON and names of files can contain them, but UTF-8 files cannot."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def escape_line(text: str) -> str:
    """Return the text with every control character escaped, line feeds included."""
    return escape_controls(text).replace("\n", _NAMED["\n"])


def escape_cell(cell: str) -> str:
    """Return the text on one line, with an apostrophe before it if a spreadsheet would compute it."""
    line = escape_controls(" ".join(cell.split()))
    return f"'{line}" if line.startswith(FORMULA_STARTS) else line


def _escape(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or f"\\u{ord(match[0]):04x}"


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


def read_count(value: object) -> int | None:
    """Return a count that a column of 32 bits can hold; None for anything else."""
    number = read_float(value)
    if number is None or not number.is_integer() or not 0 <= number < 2**31:
        return None
    return int(number)


def read_float(value: object) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
