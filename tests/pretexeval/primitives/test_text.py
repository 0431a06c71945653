"""Secrets are hidden, also in logs; text that others wrote brings no control character and no formula."""

import logging
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from pretexeval.primitives.secrets import find_secret, has_secret, hide_secrets, hide_value
from pretexeval.primitives.untrusted_text import escape_cell, escape_controls, escape_line, escape_logs
from tests.support.command import REPOSITORY

# Keys, addresses with a secret, harmless texts, and what looks random, which is hidden but not refused.
TEXTS = pl.read_csv(Path(__file__).with_name("secrets.tsv"), separator="\t", quote_char=None)


def test_secrets_are_hidden_and_refused_and_names_paths_and_words_stay() -> None:
    for text, hidden, is_refused in TEXTS.iter_rows():
        assert (hide_secrets(text), has_secret(text)) == (hidden, is_refused), text
        assert has_secret(f"a path/{text}, and more") == is_refused, text
        assert hide_secrets(f"seed = '{text}': no") == f"seed = '{hidden}': no"


def test_place_of_a_secret_is_found() -> None:
    table = {"a": [{"b": "fine"}, {"b": 3, "c": f"it is {KEY}"}], "d": "fine", "e": None}
    assert find_secret(table, []) == "a[1].c"
    assert find_secret(table["d"], []) is None
    assert find_secret({"d": "refined"}, ["fine"]) == "d"


KEY = "sk-or-v1-7f3aQz9+bC/d8e4-Lm_2xY0wPq5TnHk"


def test_a_key_is_hidden_as_it_is_in_an_address_and_in_base64() -> None:
    for form in (
        KEY,
        KEY.swapcase(),
        quote(KEY, safe=""),
        quote(KEY).lower(),
        *(b64encode(b"x" * n + KEY.encode() + b";").decode() for n in range(3)),
        urlsafe_b64encode(b"Bearer " + KEY.encode()).decode(),
    ):
        hidden = hide_value(f"İ the key is {form}, {form} and no other 💊", KEY)
        assert hidden.count("***") == 2, form
        # Of base64, what comes before the key and the last bits of the key may remain.
        assert len(hidden) < len("İ the key is ***, *** and no other 💊") + 2 * 16, form
        assert KEY[:8] not in hidden, form


def test_what_is_no_key_stays() -> None:
    text = "sk-or-v1-7f is too short, 25% of &amp; c:\\\\u0041 stays"
    assert hide_value(text, KEY) == text
    assert hide_value("nothing", None) == "nothing"
    assert hide_value("short and shorter", "short") == "*** and ***er"


CONTROLS = {
    "\x1b[2J\x07": "\\u001b[2J\\u0007",
    "\x9b31m\x7f\x85": "\\u009b31m\\u007f\\u0085",
    "a\rb\tc": "a\\rb\\tc",
    "\u202etxt\u2066\u200f\u061c": "\\u202etxt\\u2066\\u200f\\u061c",
    "one\u2028two\u2029": "one\\u2028two\\u2029",
    "\ufeff\ud800": "\\ufeff\\ud800",
    "naïve β-blocker 💊 می‌خواهم": "naïve β-blocker 💊 می‌خواهم",
}


def test_control_characters_are_escaped_and_writing_stays() -> None:
    assert {text: escape_controls(text) for text in CONTROLS} == CONTROLS
    assert escape_controls("a\n") == "a\n"
    assert {text: escape_line(f"{text}\n").removesuffix("\\n") for text in CONTROLS} == CONTROLS


def test_a_formula_is_a_text() -> None:
    for start in ("=", "+", "-", "@", "\uff1d", " =", "\t=", "\r\n@"):
        assert escape_cell(f"{start}1+1").startswith("'"), start
        assert escape_cell(f"a {start}1") == f"a {start.strip()}1", start


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


LOGGING = f"""
import logging
from pretexeval.primitives.secrets import keep_out_of_logs
logging.basicConfig(level=logging.DEBUG)
keep_out_of_logs("short")
log = logging.getLogger("vendor.client")
log.debug("shown {KEY}")
keep_out_of_logs("{KEY}")
log.debug("headers %s", {{"Authorization": "Bearer {KEY}"}})
log.info("a short word")
try:
    raise ValueError("refused {KEY}")
except ValueError:
    log.exception("it failed")
"""


def test_a_key_is_in_no_message_and_no_traceback_once_it_is_known() -> None:
    """In a process of its own, because settings of logging are those of the process."""
    done = subprocess.run(
        [sys.executable, "-c", LOGGING], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stderr.count(KEY) == done.stderr.count(f"shown {KEY}") == 1
    assert "DEBUG:vendor.client:headers {'Authorization': 'Bearer ***'}" in done.stderr
    assert "Traceback" in done.stderr
    assert "ValueError: refused ***" in done.stderr
    assert "a short word" in done.stderr
