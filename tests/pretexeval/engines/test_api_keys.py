"""Logs contain no key. Each test uses its own process, because logging settings are process-wide."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
KEY = "sk-secret-0123456789"
LOGGING = f"""
import logging
from pretexeval.engines.endpoint_client import keep_out_of_logs
logging.basicConfig(level=logging.DEBUG)
keep_out_of_logs("short")
{{first}}
log = logging.getLogger("vendor.client")
log.debug("headers %s", {{{{"Authorization": "Bearer {KEY}"}}}})
log.info("a short word")
log.info("%d of %d", 1)
try:
    raise ValueError("refused {KEY}")
except ValueError:
    log.exception("it failed")
"""


def run_logging(first: str) -> str:
    """Return the log of the program with this line in it."""
    program = LOGGING.format(first=first)
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_key_is_in_no_message_and_no_traceback() -> None:
    logged = run_logging(f'keep_out_of_logs("{KEY}")')
    assert KEY not in logged
    assert "DEBUG:vendor.client:headers {'Authorization': 'Bearer ***'}" in logged
    assert "Traceback" in logged
    assert "ValueError: refused ***" in logged
    assert "a short word" in logged
    assert "not enough arguments for format string" in logged


def test_key_is_logged_unless_it_is_hidden() -> None:
    assert run_logging("").count(KEY) == 2
