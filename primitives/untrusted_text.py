"""Text that others wrote (answers, names, messages of endpoints), made harmless where a person will see it.

A terminal obeys control characters, and a spreadsheet computes cells that look like formulas.
"""

import re

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


def escape_line(text: str) -> str:
    """Return the text with every control character escaped, line feeds included."""
    return escape_controls(text).replace("\n", _NAMED["\n"])


def escape_cell(cell: str) -> str:
    """Return the text on one line, with an apostrophe before it if a spreadsheet would compute it."""
    line = escape_controls(" ".join(cell.split()))
    return f"'{line}" if line.startswith(FORMULA_STARTS) else line


def _escape(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or f"\\u{ord(match[0]):04x}"
