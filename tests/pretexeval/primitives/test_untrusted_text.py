"""Text that others wrote: no control character and no formula reaches a terminal, a log or a spreadsheet."""

import logging

import pytest

from pretexeval.primitives.untrusted_text import escape_cell, escape_controls, escape_line, escape_logs


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b[2J\x07", "\\u001b[2J\\u0007"),
        ("\x9b31m\x7f\x85", "\\u009b31m\\u007f\\u0085"),
        ("a\rb\tc", "a\\rb\\tc"),
        ("\u202etxt\u2066\u200f\u061c", "\\u202etxt\\u2066\\u200f\\u061c"),
        ("one\u2028two\u2029", "one\\u2028two\\u2029"),
        ("\ufeff\ud800", "\\ufeff\\ud800"),
        ("naïve β-blocker 💊 می‌خواهم", "naïve β-blocker 💊 می‌خواهم"),
    ],
)
def test_control_characters_are_escaped_and_writing_stays(text: str, escaped: str) -> None:
    assert escape_controls(text) == escaped
    assert escape_line(f"{text}\n") == f"{escaped}\\n"
    assert escape_controls(f"{text}\n") == f"{escaped}\n"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d", " =", "\t=", "\r\n@"])
def test_a_formula_is_a_text(start: str) -> None:
    assert escape_cell(f"{start}1+1").startswith("'")
    assert escape_cell(f"a {start}1") == f"a {start.strip()}1"


def test_messages_and_tracebacks_are_escaped_once(caplog: pytest.LogCaptureFixture) -> None:
    make = logging.getLogRecordFactory()
    try:
        escape_logs()
        wrapped = logging.getLogRecordFactory()
        escape_logs()
        assert logging.getLogRecordFactory() is wrapped
        logging.getLogger("test").warning("it says %s", "\x1b[31m\nno")
        assert caplog.messages == ["it says \\u001b[31m\nno"]
        try:
            raise ValueError("\x1b[2J")
        except ValueError:
            logging.getLogger("test").exception("it failed")
        assert "ValueError: \\u001b[2J" in caplog.text
        assert "\x1b" not in caplog.text
    finally:
        logging.setLogRecordFactory(make)
