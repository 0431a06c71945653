import logging

import pytest

from primitives.logs import escape_logs


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
